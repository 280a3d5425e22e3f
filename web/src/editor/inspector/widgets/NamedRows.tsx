/** Names with values: rows that can be added, renamed and removed. */
import { useState, type ReactNode } from "react";
import { Field } from "../../../dialogs/fields";
import type { Editor, Json } from "../../contract";
import { set, unset, type Key } from "../fields";
import { useDraft } from "./useDraft";

export type Named = { [name: string]: Json };

interface NamedRowsProps {
  editor: Editor;
  at: string;
  keys: readonly Key[];
  values: Named;
  /** What one of them is called, such as "output". */
  word: string;
  /** The name and the value of a new one. */
  fresh: [name: string, value: Json];
  row: (name: string, value: Json) => ReactNode;
}

export function NamedRows({ editor, at, keys, values, word, fresh, row }: NamedRowsProps) {
  const [newest, setNewest] = useState("");
  const names = Object.keys(values);
  const add = async () => {
    let [name] = fresh;
    for (let number = 2; names.includes(name); number += 1) name = `${fresh[0]}_${number}`;
    if (await editor.apply([set(at, [...keys, name], fresh[1])])) setNewest(name);
  };
  return (
    <div className="named-rows">
      {names.length > 0 && (
        <ul className="inspector-list">
          {names.map((name) => (
            <li key={name} className="named-row">
              <NameField editor={editor} at={at} keys={keys} values={values} name={name} word={word} isNew={name === newest} />
              {row(name, values[name] ?? null)}
              <button type="button" className="button button-small" aria-label={`Remove the ${word} ${name}`} onClick={() => void editor.apply([unset(at, [...keys, name])])}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <button type="button" className="button button-small" onClick={() => void add()}>
        + {word}
      </button>
    </div>
  );
}

interface NameFieldProps extends Pick<NamedRowsProps, "editor" | "at" | "keys" | "values" | "word"> {
  name: string;
  isNew: boolean;
}

function NameField({ editor, at, keys, values, name, word, isNew }: NameFieldProps) {
  const draft = useDraft(name, async (text) => {
    if (text === name) return true;
    if (text === "" || text in values) return false;
    // A mapping is changed entry by entry: the new name stands where the old one stood.
    const renamed = Object.fromEntries(Object.entries(values).map(([one, value]) => [one === name ? text : one, value]));
    return (await editor.apply([set(at, keys, renamed)])) !== null;
  });
  return (
    <Field label={<span className="sr-only">{`name of the ${word}`}</span>}>
      {(id) => (
        <input id={id} className="mono named-name" value={draft.text} aria-invalid={draft.isRefused} autoFocus={isNew} onChange={(event) => draft.change(event.target.value)} onBlur={draft.flush} onKeyDown={(event) => event.key === "Enter" && draft.flush()} />
      )}
    </Field>
  );
}
