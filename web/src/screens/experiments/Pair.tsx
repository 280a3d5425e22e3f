/** The results of a case under the baseline and under another variant, side by side. */
import { useEffect, useRef } from "react";
import type { CaseList } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { textOf } from "../../app/values";
import { Diff } from "../../charts";
import { words } from "../../journal";
import { gradeWords } from "./documents";

type Case = CaseList["cases"][number];

interface PairProps {
  one: Case;
  baseline: string;
  variant: string;
  onClose: () => void;
}

/** Of cases that are run several times, the first run of each. */
export function Pair({ one, baseline, variant, onClose }: PairProps) {
  const sides = [baseline, variant].map((name) => ({ name, cell: one.cells[name], run: one.cells[name]?.trials[0]?.run ?? "" }));
  const [before, after] = sides.map((side) => side.run);
  const pair = useLoad((client, signal) => Promise.all([before, after].map((run) => client.run(run ?? "", signal))), [before, after]);
  const place = useRef<HTMLElement>(null);
  // It lies below a long table.
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, [before, after, pair.value]);
  return (
    <section className="pair" ref={place} aria-label="two results side by side">
      <h2>
        Case {words.visible(one.case)}
        {sides.map((side) => (
          <span key={side.name} className="side-note">
            <Link to={runPath(side.run)}>{words.visible(side.name)}</Link> {gradeWords(side.cell?.grade)}
          </span>
        ))}
        <button type="button" className="button button-quiet" onClick={onClose}>
          Close
        </button>
      </h2>
      {pair.error !== null && <ErrorNotice error={pair.error} onRetry={pair.reload} />}
      {!pair.value && !pair.error && <Loading what="both results" />}
      {pair.value && <Outputs both={pair.value.map((run) => run.result.outputs ?? {})} label={`${baseline} and ${variant}`} />}
    </section>
  );
}

function Outputs({ both, label }: { both: Record<string, unknown>[]; label: string }) {
  const [before, after] = [both[0] ?? {}, both[1] ?? {}];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (names.length === 0) return <p className="faint">Neither gave anything.</p>;
  return names.map((name) => (
    <div key={name}>
      <h3>{words.visible(name)}</h3>
      <Diff before={textOf(before[name])} after={textOf(after[name])} view="split" label={`${name} of ${label}`} />
    </div>
  ));
}
