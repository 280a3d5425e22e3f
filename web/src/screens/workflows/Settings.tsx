/** What the file says of a step, before anything runs: its prompt, condition, model, limits. */
import type { GraphNode } from "../../api";
import { words } from "../../journal";

/** Names and texts of what is set, in the order in which people ask for them. */
export function settingsOf({ kind, task, model, when, loop, settings }: GraphNode): [name: string, text: string][] {
  const found: [string, string][] = [["kind", task ?? kind]];
  if (model) found.push(["model", model]);
  if (when) found.push(["runs if", when]);
  if (loop) {
    if (loop.until) found.push(["until", loop.until]);
    for (const [name, limit] of Object.entries(loop.limits)) found.push([`at most ${name}`, String(limit)]);
    found.push(["at its limit", loop.on_limit], ["returns", loop.returns]);
    if (loop.carry.length > 0) found.push(["carries", loop.carry.join(", ")]);
    if (loop.ask !== "never") found.push(["asks a person", loop.ask]);
  }
  for (const [name, text] of Object.entries(settings ?? {})) if (name !== "model") found.push([name, text]);
  return found;
}

export function Settings({ node, onClose }: { node: GraphNode; onClose: () => void }) {
  return (
    <section className="card step-settings" aria-label={`settings of ${node.name}`}>
      <h3>
        {words.visible(node.title)} <code className="faint">{node.path}</code>
        <button type="button" className="button button-quiet button-small" onClick={onClose} aria-label="close the settings">
          ✕
        </button>
      </h3>
      <dl className="fields">
        {settingsOf(node).map(([name, text]) => (
          <div key={name} className={text.length > 48 || text.includes("\n") ? "field" : "field field-short"}>
            <dt>{name}</dt>
            <dd>{text.length > 48 || text.includes("\n") ? <pre className="value" tabIndex={0}>{words.visible(text)}</pre> : <span className="mono">{words.visible(text)}</span>}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
