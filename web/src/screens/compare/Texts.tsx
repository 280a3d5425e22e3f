/** The two results: their difference, or both as they are. Always text, never HTML. */
import { useState } from "react";
import { isValueRef, type Comparison } from "../../api";
import { useClient } from "../../app/session";
import { Value } from "../../app/Value";
import { textOf } from "../../app/values";
import { Diff } from "../../charts";
import { chosenValue } from "./choices";

export const VIEWS = ["unified", "split", "rendered"] as const;
export type View = (typeof VIEWS)[number];

interface TextsProps {
  run: string;
  pair: Comparison;
  node: string;
  view: View;
}

export function Texts({ run, pair, node, view }: TextsProps) {
  const sides = [pair.one, pair.other].map((side) => ({ number: side.number, value: chosenValue(side.results, node) }));
  const [before, after] = sides.map((side) => side.value);
  if (view === "rendered") {
    return (
      <div className="rendered">
        {sides.map((side) => (
          <section key={side.number} aria-label={`iteration ${side.number}`}>
            <h2>
              #{side.number} · {node}
            </h2>
            <Value key={`${side.number} ${node}`} run={run} value={side.value} />
          </section>
        ))}
      </div>
    );
  }
  if (isValueRef(before) || isValueRef(after)) {
    return <StoredDiff key={`${node} ${pair.one.number} ${pair.other.number}`} run={run} before={before} after={after} view={view} />;
  }
  return <Diff before={textOf(before)} after={textOf(after)} view={view} label={`changes of ${node} from #${pair.one.number} to #${pair.other.number}`} />;
}

/** Large results are fetched before they are compared, when somebody asks for it. */
function StoredDiff({ run, before, after, view }: { run: string; before: unknown; after: unknown; view: "unified" | "split" }) {
  const client = useClient();
  const [found, setFound] = useState<{ texts?: [string, string]; problem?: string }>({});
  const whole = async (value: unknown) => (isValueRef(value) ? (await client.value(run, value.$ref)).value : value);
  const fetchBoth = () => {
    Promise.all([whole(before), whole(after)]).then(
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
