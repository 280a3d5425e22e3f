/** What a new file can be made from, and a name for it that nothing has yet. */
import { quoted } from "../../dialogs/commands";

export interface Template {
  name: string;
  dialects: string[];
  description: string;
  needs: string;
}

export interface Listed {
  templates: Template[];
  /** The dialects that have an empty file. */
  empty: string[];
}

/** One of the four ways to begin. */
export type Beginning =
  | { from: "template"; name: string; dialect: string }
  | { from: "empty"; dialect: string }
  | { from: "copy"; file: string }
  | { from: "convert"; file: string };

/** The ending that files of a dialect have. */
export const endingOf = (dialect: string): string => (dialect === "studio" ? ".json" : ".yaml");

const stem = (file: string): string => file.replace(/\.(ya?ml|json)$/, "");

/** A name in the words of what it is made from. */
export function wantedName(beginning: Beginning): string {
  switch (beginning.from) {
    case "template":
      return `${beginning.name}${endingOf(beginning.dialect)}`;
    case "empty":
      return `new${endingOf(beginning.dialect)}`;
    case "copy":
      return beginning.file.replace(/(\.[a-z]+)$/, "-copy$1");
    case "convert":
      return `${stem(beginning.file)}-native.yaml`;
  }
}

/** The name itself, or with the first number that is free. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let number = 2; taken.includes(name); number += 1) name = wanted.replace(/(\.[a-z]+)$/, `-${number}$1`);
  return name;
}

/** What is wrong with a name, before the server is asked. */
export function problemOf(file: string, beginning: Beginning, taken: readonly string[]): string {
  const ending = /\.(ya?ml|json)$/.exec(file)?.[0] ?? "";
  if (file === "") return "enter a file name";
  if (ending === "") return "the name must end with .yaml, .yml or .json";
  if (taken.includes(file)) return `${file} already exists`;
  if (beginning.from === "template" && ending !== endingOf(beginning.dialect)) return `a ${beginning.dialect} template needs a name that ends with ${endingOf(beginning.dialect)}`;
  return "";
}

export function requestOf(beginning: Beginning): Record<string, string> {
  switch (beginning.from) {
    case "template":
      return { template: beginning.name };
    case "empty":
      return { empty: beginning.dialect };
    case "copy":
      return { copy_of: beginning.file };
    case "convert":
      return { convert: beginning.file };
  }
}

/** The same in the terminal. */
export function commandOf(beginning: Beginning, file: string): string {
  switch (beginning.from) {
    case "template":
      return `whorl new ${quoted(beginning.name)} ${quoted(file)}`;
    case "empty":
      return `whorl new --empty ${quoted(beginning.dialect)} ${quoted(file)}`;
    case "copy":
      return `cp ${quoted(beginning.file)} ${quoted(file)}`;
    case "convert":
      return `whorl file convert ${quoted(beginning.file)} -o ${quoted(file)}`;
  }
}
