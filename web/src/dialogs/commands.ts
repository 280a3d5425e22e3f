/** The command of the terminal that does the same as a button. */

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const line = (...words: string[]): string => ["whorl", ...words].map(quoted).join(" ");

/** `NAME=TEXT`, or `NAME:=JSON` for what is no text (or would be taken for a file's name). */
export function given(name: string, value: unknown): string {
  const isText = typeof value === "string" && !value.startsWith("@");
  return isText ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`;
}

type Values = Readonly<Record<string, unknown>>;

const settings = (flag: string, values: Values): string[] =>
  Object.entries(values).flatMap(([name, value]) => [flag, given(name, value)]);

const option = (flag: string, value: string | number | null | undefined): string[] =>
  value === null || value === undefined || value === "" ? [] : [flag, String(value)];

/** Another model or prompt, by the path of the step. */
export type StepChanges = Readonly<Record<string, { model?: string; prompt?: string }>>;

export interface RunCommand {
  file: string;
  /** Which workflow of the file, where it has several. */
  named?: string;
  inputs: Values;
  budget?: number | undefined;
  iterations?: number | undefined;
}

export const commands = {
  run: ({ file, named, inputs, budget, iterations }: RunCommand) =>
    line("run", file, ...option("--workflow", named), ...settings("-i", inputs), ...option("--budget", budget), ...option("--max-iterations", iterations)),
  fork: (run: string, at: string, set: Values, budget?: number, steps: StepChanges = {}) =>
    line(
      "fork",
      run,
      "--at",
      at,
      ...settings("--set", set),
      ...Object.entries(steps).flatMap(([step, { model, prompt }]) => [
        ...(model === undefined ? [] : ["--model", `${step}=${model}`]),
        ...(prompt === undefined ? [] : ["--prompt", `${step}=${prompt}`]),
      ]),
      ...option("--budget", budget),
    ),
  continue: (run: string, more: { loop?: string | undefined; iterations?: number | undefined; budget?: number | undefined }) =>
    line(
      "continue",
      run,
      ...option("--iterations", more.iterations),
      ...option("--budget", more.budget === undefined ? "" : `+${more.budget}`),
      ...option("--at", more.loop),
    ),
  resume: (run: string, more: { tokens?: number | undefined; budget?: number | undefined }) =>
    line("resume", run, ...option("--budget", more.budget === undefined ? "" : `+${more.budget}`), ...option("--tokens", more.tokens === undefined ? "" : `+${more.tokens}`)),
  accept: (run: string, iteration: number, loop?: string) =>
    line("accept", run, "--iteration", String(iteration), ...option("--at", loop)),
  answer: (verb: "approve" | "reject", run: string, feedback: string, address: string) =>
    line("runs", verb, run, ...option("--feedback", feedback), ...option("--at", address)),
  /** The results of a loop by their names, or the one value of a gate. */
  approveEdited: (run: string, feedback: string, address: string, results: Values | null, value: unknown) =>
    line(
      "runs",
      "approve",
      run,
      ...(results ? settings("--set", results) : ["--value", given("", value).replace(/^=/, "")]),
      ...option("--feedback", feedback),
      ...option("--at", address),
    ),
  stop: (run: string, loop?: string) => line("runs", "stop", run, ...option("--at", loop)),
  cancel: (run: string, feedback = "") => line("runs", "cancel", run, ...option("--reason", feedback)),
  diff: (run: string, one: number, other: number, node?: string, loop?: string, against?: string) =>
    line("diff", run, String(one), String(other), ...option("--step", node), ...option("--at", loop), ...option("--with", against)),
};
