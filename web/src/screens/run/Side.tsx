/** Beside the picture: the curve of the loop, its iterations, and the verdict on the chosen one. */
import { useCallback, useMemo } from "react";
import type { RunDetail } from "../../api";
import { Link, runPath } from "../../app/router";
import { chooseIteration, useJournal, useRunState, useRunStore, useRunView } from "../../app/run";
import { ScoreCurve } from "../../charts";
import { useFamilyCurves } from "../../dialogs/family";
import { estimateNext, isKept, iterationsLeft, nameOf, outsideOf, scoresOf, words, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";
import { Iterations } from "./Iterations";
import { Verdict } from "./Verdict";
import { WhatIfPanel } from "./WhatIfPanel";

interface SideProps {
  id: string;
  detail: RunDetail | null;
  loop: LoopState | undefined;
  /** The score that ends the loop, as the workflow says it. */
  target: number | null;
}

export function Side({ id, detail, loop, target }: SideProps) {
  return (
    <aside className="side" aria-label="the loop">
      {loop ? <LoopSide id={id} detail={detail} loop={loop} target={target} /> : <p className="faint side-none">No loop has started.</p>}
    </aside>
  );
}

function LoopSide({ id, detail, loop, target }: SideProps & { loop: LoopState }) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const number = numberLookedAt(loop, chosen);
  const family = useFamilyCurves(detail, loop.address);
  const scores = useMemo(() => padded(scoresOf(loop), loop.iterations[0]?.number ?? 1), [loop]);
  const outside = useMemo(() => outsideOf(loop), [loop]);
  const isScored = loop.iterations.some((one) => one.score !== null) || outside.length > 0 || target !== null;
  const choose = useCallback((wanted: number) => chooseIteration(store, loop.address, wanted), [store, loop.address]);
  return (
    <>
      {isScored && (
        <section className="side-part" aria-label="score">
          <h2>
            Score <span className="faint side-note">{words.visible(nameOf(loop.address))}</span>
            {loop.best !== null && <BestWords loop={loop} />}
          </h2>
          <ScoreCurve scores={scores} target={loop.target ?? target} best={loop.best} returned={loop.returned} outside={outside} chosen={number} onChoose={choose} others={family} width={372} height={132} />
          {family.length > 0 && <Legend names={family.map((curve) => curve.name)} />}
        </section>
      )}
      <section className="side-part side-iterations" aria-label="iterations">
        <h2>
          Iterations {!isScored && <span className="faint side-note">{words.visible(nameOf(loop.address))}</span>}
          <span className="faint side-note figure">{loop.limits.iterations ? `${loop.number} of at most ${loop.limits.iterations}` : loop.number}</span>
        </h2>
        <Iterations loop={loop} number={number} isScored={isScored} onChoose={choose} />
        <Kept loop={loop} />
        <Forecast loop={loop} />
      </section>
      {number > 0 && <Verdict key={`${loop.address}[${number}]`} id={id} loop={loop} number={number} />}
      <WhatIfPanel key={loop.address} id={id} loop={loop} />
    </>
  );
}

/** The curve counts from 1; a loop of a fork may begin later. */
function padded(scores: (number | null)[], first: number): (number | null)[] {
  return first > 1 ? [...Array<null>(first - 1).fill(null), ...scores] : scores;
}

function BestWords({ loop }: { loop: LoopState }) {
  const best = loop.iterations.find((one) => one.number === loop.best);
  if (!best || best.score === null) return null;
  return (
    <span className="side-note figure best">
      <span aria-hidden="true">★</span> best #{best.number} {words.score(best.score, loop.target)}
    </span>
  );
}

function Legend({ names }: { names: readonly string[] }) {
  return (
    <ul className="curve-legend" aria-label="curves">
      {["this run", ...names].map((name, index) => (
        <li key={name}>
          <svg width="22" height="8" aria-hidden="true" className="score-curve">
            <line className={index === 0 ? "line" : "line other"} x1="0" x2="22" y1="4" y2="4" />
          </svg>
          {words.visible(name)}
        </li>
      ))}
    </ul>
  );
}

/** Which iterations a fork has of the run that it was made of: their cost is that run's. */
function Kept({ loop }: { loop: LoopState }) {
  const run = useRunState();
  const kept = loop.iterations.filter((one) => isKept(run, one));
  const [first, last] = [kept[0], kept.at(-1)];
  if (!first || !last) return null;
  const which = first === last ? `#${first.number} is` : `#${first.number} to #${last.number} are`;
  return (
    <p className="forecast">
      {which} kept from <Link to={runPath(run.forkedFrom)}>{run.forkedFrom}</Link>, and paid for there.
    </p>
  );
}

/** What the next iteration will probably take, and how many the budget still allows. */
function Forecast({ loop }: { loop: LoopState }) {
  const left = useJournal((journal) => iterationsLeft(journal, loop), [loop]);
  const next = useMemo(() => estimateNext(loop), [loop]);
  if (!next || loop.status === "finished") return null;
  const parts = [words.cost(next), `${words.tokens(Math.round(next.tokens))} tokens`, words.duration(next.seconds)];
  return (
    <p className="forecast" title="the median of the iterations so far">
      Next iteration ≈ <span className="figure">{parts.join(" · ")}</span>
      {left !== null && (
        <>
          {" "}
          · <span className={left <= 1 ? "forecast-near" : ""}>about {left} left in the budget</span>
        </>
      )}
    </p>
  );
}
