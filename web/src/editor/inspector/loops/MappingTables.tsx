/** The two tables of a loop: what is led into each iteration, and what comes out of the loop. */
import type { Editor, Json, SketchNode } from "../../contract";
import { valueAt, type Key } from "../fields";
import { useChosen } from "../widgets/useDraft";
import { TextField } from "../widgets/Widgets";
import { freeName, ITERATIONS, labelOf, results, rowsIn, sources, TAKES, targets, withCurrent, type Choice, type Mapped } from "./mappings";
import { RowTable } from "./RowTable";

interface TableProps {
  editor: Editor;
  node: SketchNode;
  inner: readonly SketchNode[];
}

export function InputMappings({ editor, node, inner }: TableProps) {
  const keys: Key[] = ["data", "inputMappings"];
  const [from, into] = [sources(node, inner), targets(inner)];
  const fresh: Mapped = { source: from[0]?.value ?? { type: "outer", name: "input" }, target: into[0]?.value ?? { node: "node", input: "input" }, iterations: "all" };
  return (
    <RowTable title="Input mappings" word="input mapping" editor={editor} node={node} keys={keys} fresh={fresh}>
      {(row, index, change) => (
        <>
          <End label={`source of input mapping ${index + 1}`} choices={from} value={row["source"]} onValue={change("source")} />
          <span aria-hidden="true">→</span>
          <End label={`target of input mapping ${index + 1}`} choices={into} value={row["target"]} onValue={change("target")} />
          <Words label={`iterations of input mapping ${index + 1}`} words={ITERATIONS} value={row["iterations"] ?? "all"} onValue={change("iterations")} />
        </>
      )}
    </RowTable>
  );
}

export function OutputMappings({ editor, node, inner }: TableProps) {
  const keys: Key[] = ["data", "outputMappings"];
  const given = results(inner);
  const rows = rowsIn(valueAt(node.fields, keys));
  const fresh: Mapped = { source: given[0]?.value ?? { node: "node", output: "output" }, target: freeName(rows, "target", "result"), take: "last" };
  return (
    <RowTable title="Output mappings" word="output mapping" editor={editor} node={node} keys={keys} fresh={fresh}>
      {(row, index, change) => (
        <>
          <End label={`source of output mapping ${index + 1}`} choices={given} value={row["source"]} onValue={change("source")} />
          <span aria-hidden="true">→</span>
          <TextField label={<span className="sr-only">{`target of output mapping ${index + 1}`}</span>} value={row["target"]} isRequired onValue={(value) => change("target")(value ?? "")} />
          {valueAt(row["source"], ["type"]) !== "builtin" && <Words label={`take of output mapping ${index + 1}`} words={TAKES} value={row["take"] ?? "last"} onValue={change("take")} />}
        </>
      )}
    </RowTable>
  );
}

interface EndProps {
  label: string;
  choices: Choice[];
  value: Json | undefined;
  onValue: (value: Json) => Promise<boolean>;
}

/** One end of a mapping. */
function End({ label, choices, value, onValue }: EndProps) {
  const listed = withCurrent(choices, value);
  const [shown, choose] = useChosen(labelOf(value), async (chosen) => {
    const found = listed.find((choice) => choice.label === chosen);
    if (found) await onValue(found.value);
  });
  return (
    <select aria-label={label} value={shown} onChange={(event) => choose(event.target.value)}>
      {listed.map((choice) => (
        <option key={choice.label}>{choice.label}</option>
      ))}
    </select>
  );
}

interface WordsProps {
  label: string;
  words: Readonly<Record<string, string>>;
  value: Json;
  onValue: (value: Json) => Promise<boolean>;
}

function Words({ label, words, value, onValue }: WordsProps) {
  const [shown, choose] = useChosen(String(value), onValue);
  return (
    <select aria-label={label} value={shown} onChange={(event) => choose(event.target.value)}>
      {Object.entries(words).map(([one, shown]) => (
        <option key={one} value={one}>
          {shown}
        </option>
      ))}
    </select>
  );
}
