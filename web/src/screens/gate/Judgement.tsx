/** What was found about the iteration that is asked about: score, verdict, the judge's words. */
import { useLoop } from "../../app/run";
import { ScoreCurve } from "../../charts";
import { Facts } from "../run/Facts";
import { iterationOf, outsideOf, scoresOf, words } from "../../journal";

export function Judgement({ loop, number }: { loop: string; number: number }) {
  const state = useLoop(loop);
  if (!state) return null;
  // An iteration that still runs has no verdict yet; then the last one is told.
  const here = iterationOf(state, number);
  const told = here && here.endedAt !== null ? here : iterationOf(state, number - 1);
  const outside = outsideOf(state);
  const hasScores = outside.length > 0 || state.iterations.some((one) => one.score !== null);
  if (!told && !hasScores) return null;
  return (
    <section className="card" aria-label="verdict">
      <h2>
        Verdict{told ? ` of #${told.number}` : ""}
        {told?.score != null && <span className="faint"> · score {words.score(told.score, state.target)}</span>}
        {told?.outside && <span className="outside"> · score {words.outsideWords(told.outside)}</span>}
      </h2>
      {told && told.facts.length > 0 ? (
        <Facts iteration={told} />
      ) : (
        <p className="faint">This loop has no condition: you decide.</p>
      )}
      {hasScores && <ScoreCurve scores={scoresOf(state)} target={state.target} best={state.best} returned={state.returned} outside={outside} chosen={number} height={100} />}
    </section>
  );
}
