/** The two results: their difference, or both as they are. Always text, never HTML. */
import { useState } from "react";
import { isValueRef, type Comparison } from "../../api";
import { useClient } from "../../app/session";
import { Value } from "../../app/Value";
import { textOf } from "../../app/values";
import { Diff } from "../../charts";
import { chosenValue, sideName } from "./choices";

export const VIEWS = ["unified", "split", "rendered"] as const;
export type View = (typeof VIEWS)[number];

interface TextsProps {
  /** Whose iterations they are: of one run, or of two. */
  runs: readonly [string, string];
  pair: Comparison;
  node: string;
  view: View;
}

export function Texts({ runs, pair, node, view }: TextsProps) {
  const sides = [pair.one, pair.other].map((side, index) => ({
    number: side.number,
    run: runs[index] ?? runs[0],
    name: sideName(side.number, runs, index),
    value: chosenValue(side.results, node),
  }));
  const [before, after] = sides.map((side) => side.value);
  if (view === "rendered") {
    return (
      <div className="rendered">
        {sides.map((side) => (
          <section key={side.name} aria-label={`iteration ${side.name.slice(1)}`}>
            <h2>
              {side.name} · {node}
            </h2>
            <Value key={`${side.name} ${node}`} run={side.run} value={side.value} />
          </section>
        ))}
      </div>
    );
  }
  if (isValueRef(before) || isValueRef(after)) {
    return <StoredDiff key={`${node} ${sides.map((side) => side.name).join()}`} runs={runs} before={before} after={after} view={view} />;
  }
  return <Diff before={textOf(before)} after={textOf(after)} view={view} label={`changes of ${node} from ${sides[0]?.name} to ${sides[1]?.name}`} />;
}

/** Large results are fetched before they are compared, when somebody asks for it. */
function StoredDiff({ runs, before, after, view }: { runs: TextsProps["runs"]; before: unknown; after: unknown; view: "unified" | "split" }) {
  const client = useClient();
  const [found, setFound] = useState<{ texts?: [string, string]; problem?: string }>({});
  const whole = async (run: string, value: unknown) => (isValueRef(value) ? (await client.value(run, value.$ref)).value : value);
  const fetchBoth = () => {
    Promise.all([whole(runs[0], before), whole(runs[1], after)]).then(
      ([one, other]) => setFound({ texts: [textOf(one), textOf(other)] }),
      (fault: unknown) => setFound({ problem: fault instanceof Error ? fault.message : String(fault) }),
    );
  };
  if (found.texts) return <Diff before={found.texts[0]} after={found.texts[1]} view={view} />;
  return (
    <div className="notice">
      <p>These results are large.</p>
      <button type="button" className="button" onClick={fetchBoth}>
        Fetch and compare them
      </button>
      {found.problem && <p role="alert">{found.problem}</p>}
    </div>
  );
}
