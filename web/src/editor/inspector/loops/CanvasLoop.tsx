/** A loop of a canvas: how often, when it ends, and what the next iteration is given. */
import type { Editor, Json, SketchNode } from "../../contract";
import { childrenOf, nameOf, put, valueAt } from "../fields";
import { ChoiceField, NumberField } from "../widgets/Widgets";

interface LoopProps {
  editor: Editor;
  node: SketchNode;
}

const EXITS = { max_iterations: "after all iterations", evaluator: "when a router says done", stable_output: "when the output is stable" };
const FEEDBACK = { replace: "the output replaces the input", append: "the output is appended to the input" };
const [LEAST, MOST] = [1, 50];

const fieldOf = ({ editor, node }: LoopProps, name: string) => ({
  value: valueAt(node.fields, ["data", name]),
  onValue: async (value: Json | undefined) =>
    (value === undefined && valueAt(node.fields, ["data", name]) === undefined) || (await editor.apply([put(node.path, ["data", name], value)])) !== null,
});

/** The three fields that stand on the node itself, too. */
export function CanvasLoopFields(props: LoopProps) {
  const [most, exit, feedback] = [fieldOf(props, "maxIterations"), fieldOf(props, "exitCondition"), fieldOf(props, "feedbackMode")];
  return (
    <>
      <NumberField
        {...most}
        label="Max iterations"
        usual="5"
        min={LEAST}
        max={MOST}
        outside={`${nameOf(props.node.path)} can have from ${LEAST} to ${MOST} iterations`}
      />
      <ChoiceField {...exit} label="Exit" usual="max_iterations" choices={Object.keys(EXITS)} />
      <ChoiceField {...feedback} label="Feedback" usual="replace" choices={Object.keys(FEEDBACK)} />
    </>
  );
}

export function CanvasLoop(props: LoopProps) {
  const exit = valueAt(props.node.fields, ["data", "exitCondition"]) ?? "max_iterations";
  const feedback = valueAt(props.node.fields, ["data", "feedbackMode"]) ?? "replace";
  const threshold = fieldOf(props, "stabilityThreshold");
  return (
    <div className="loop-panel">
      <p className="sentence-words">
        <span aria-hidden="true">↻ </span>
        It ends {EXITS[String(exit) as keyof typeof EXITS] ?? String(exit)}; {FEEDBACK[String(feedback) as keyof typeof FEEDBACK] ?? String(feedback)}.
      </p>
      <CanvasLoopFields {...props} />
      {exit === "stable_output" && (
        <NumberField {...threshold} label="Stability threshold" usual="0.95" min={0} max={1} outside="must be from 0 to 1" help="how similar two outputs in a row must be" />
      )}
      {exit === "evaluator" && <Deciders {...props} />}
    </div>
  );
}

/** Which router ends the loop. */
function Deciders({ editor, node }: LoopProps) {
  const routers = childrenOf(editor, node.path).filter((child) => child.kind === "router");
  if (routers.length === 0) {
    return <p className="problem">This loop has no router. Add one with the branches done and continue, and connect done to the exit.</p>;
  }
  return (
    <p>
      Decided by{" "}
      {routers.map((router) => (
        <button key={router.path} type="button" className="link-button" onClick={() => editor.select([router.path])}>
          {router.title}
        </button>
      ))}
    </p>
  );
}
