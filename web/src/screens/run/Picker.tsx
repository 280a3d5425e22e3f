/** Which loop and which iteration is looked at, and whether the page follows the newest. */
import { chooseIteration, followLatest, lookAtLoop, useJournal, useRunStore, useRunView } from "../../app/run";
import { nameOf, type LoopState } from "../../journal";
import { numberLookedAt, stepped } from "./focus";

const OPTIONS_MAX = 200;

export function Picker({ loop, paths }: { loop: LoopState; paths: readonly string[] }) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const isFollowing = useRunView((view) => view.isFollowing);
  const number = numberLookedAt(loop, chosen);
  const [before, after] = [stepped(loop, chosen, -1), stepped(loop, chosen, 1)];
  const choose = (wanted: number | null) => wanted !== null && chooseIteration(store, loop.address, wanted);
  return (
    <div className="picker" role="group" aria-label="iteration">
      {paths.length > 1 && <LoopPicker loop={loop} paths={paths} onChoose={(path) => lookAtLoop(store, path)} />}
      <span className="faint">iteration</span>
      <button type="button" className="button button-icon" data-repeats aria-label="previous iteration" disabled={before === null} onClick={() => choose(before)}>
        ◂
      </button>
      <NumberPicker loop={loop} number={number} onChoose={choose} />
      <button type="button" className="button button-icon" data-repeats aria-label="next iteration" disabled={after === null} onClick={() => choose(after)}>
        ▸
      </button>
      <button type="button" className="button follow" aria-pressed={isFollowing} title="follow the newest iteration (f)" onClick={() => (isFollowing ? choose(number) : followLatest(store))}>
        <span aria-hidden="true">{isFollowing ? "◉" : "○"}</span> follow latest
      </button>
    </div>
  );
}

function LoopPicker({ loop, paths, onChoose }: { loop: LoopState; paths: readonly string[]; onChoose: (path: string) => void }) {
  return (
    <select aria-label="loop" value={loop.path} onChange={(event) => onChoose(event.target.value)}>
      {paths.map((path) => (
        <option key={path} value={path}>
          {path.split("/").map(nameOf).join(" › ")}
        </option>
      ))}
    </select>
  );
}

/** A list of all, or of very many a field for the number. */
function NumberPicker({ loop, number, onChoose }: { loop: LoopState; number: number; onChoose: (number: number) => void }) {
  const numbers = useJournal(() => loop.iterations.map((one) => one.number), [loop]);
  if (numbers.length > OPTIONS_MAX) {
    const take = (text: string) => {
      const wanted = Number(text);
      if (Number.isInteger(wanted) && wanted >= (numbers[0] ?? 1) && wanted <= loop.number) onChoose(wanted);
    };
    return (
      <>
        <input className="number-field" type="number" aria-label="iteration number" min={numbers[0]} max={loop.number} key={number} defaultValue={number} onBlur={(event) => take(event.target.value)} onKeyDown={(event) => event.key === "Enter" && take(event.currentTarget.value)} />
        <span className="figure faint">/ {loop.number}</span>
      </>
    );
  }
  return (
    <select className="figure" aria-label="iteration number" value={number} onChange={(event) => onChoose(Number(event.target.value))}>
      {numbers.length === 0 && <option value={0}>–</option>}
      {numbers.map((one) => (
        <option key={one} value={one}>
          {one}
          {loop.limits.iterations ? ` / ${loop.limits.iterations}` : ""}
        </option>
      ))}
    </select>
  );
}
