/** The form of a step, made from what the palette says about its kind; loops have panels of their own. */
import { textOf } from "../../app/values";
import { visible } from "../../journal/words";
import type { Editor, Json, SketchNode } from "../contract";
import { childrenOf, kindOf, othersOf, put, rowsOf, widgetFor, type Field, type Row } from "./fields";
import { panelOf, PORTS } from "./loops/panels";
import { Ports } from "./loops/Ports";
import { AnyWidget } from "./widgets/Widgets";

interface StepProps {
  editor: Editor;
  node: SketchNode;
}

export function StepForm({ editor, node }: StepProps) {
  const panel = panelOf(editor, node);
  const form: readonly Field[] = kindOf(editor, node.kind)?.form ?? [];
  const hasPorts = editor.dialect === "shodan" && form.some(({ field }) => PORTS.some((keys) => keys.join() === field.join()));
  const elsewhere = [...(panel?.fields ?? []), ...(hasPorts ? PORTS : [])];
  const { shown, folded } = rowsOf(form, node, elsewhere);
  const others = othersOf(form, node.fields, node.body === "inline" ? childrenOf(editor, node.path) : null, elsewhere);
  const Panel = panel?.Panel;
  return (
    <>
      {Panel && <Panel editor={editor} node={node} />}
      {shown.map((row) => (
        <FormRow key={row.field.field.join(".")} editor={editor} at={node.path} row={row} />
      ))}
      {hasPorts && <Ports editor={editor} node={node} />}
      {folded.length > 0 && (
        <details className="inspector-more">
          <summary>{shown.length > 0 || panel ? "More fields" : "Fields"}</summary>
          {folded.map((row) => (
            <FormRow key={row.field.field.join(".")} editor={editor} at={node.path} row={row} />
          ))}
        </details>
      )}
      <Others rows={others} />
    </>
  );
}

export function FormRow({ editor, at, row: { field, value } }: { editor: Editor; at: string; row: Row }) {
  const isNeeded = field.required;
  const widget = widgetFor(field, value);
  const change = async (next: Json | undefined): Promise<boolean> => {
    if (next === undefined && value === undefined) return true;
    return (await editor.apply([put(at, field.field, next ?? (isNeeded ? "" : undefined))])) !== null;
  };
  const label = (
    <>
      {field.label} {isNeeded && <span className="faint">required</span>}
    </>
  );
  const usual = field.default === undefined || field.default === null ? "" : textOf(field.default);
  return <AnyWidget widget={widget} label={label} help={field.help} value={value} usual={usual} choices={field.choices} at={at} onValue={change} />;
}

const CUT = 200;

/** What the file also says: shown, and left alone. */
export function Others({ rows }: { rows: readonly Row[] }) {
  if (rows.length === 0) return null;
  return (
    <details className="inspector-others">
      <summary>Also in the file ({rows.length})</summary>
      <dl>
        {rows.map(({ field, value }) => (
          <div key={field.label}>
            <dt>{visible(field.label)}</dt>
            <dd>
              <code>{visible(typeof value === "string" ? value : JSON.stringify(value)).slice(0, CUT)}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
