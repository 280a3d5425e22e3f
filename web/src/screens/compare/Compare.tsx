/** Two iterations of a loop side by side, of one run or of two, and what changed when. */
import { useId } from "react";
import type { Client, Comparison, LoopItem, Matrix as MatrixItem } from "../../api";
import { KEY_LABELS, useKeys } from "../../app/keys";
import { Empty, ErrorNotice, Loading } from "../../app/Notice";
import { Link, navigate, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { commands } from "../../dialogs/commands";
import { words } from "../../journal";
import type { ScreenProps } from "..";
import { Actions } from "./Actions";
import { firstChoice, nodeChoices } from "./choices";
import { Figures } from "./Figures";
import { Matrix } from "./Matrix";
import { Texts, VIEWS, type View } from "./Texts";

export default function Compare({ values, query }: ScreenProps) {
  const id = values["id"] ?? "";
  const loops = useLoad((client, signal) => client.loops(id, signal), [id]);
  if (loops.error) return <ErrorNotice error={loops.error} isPage onRetry={loops.reload} />;
  if (!loops.value) return <Loading what="the loops" />;
  const all = loops.value.loops;
  const loop = all.find((one) => one.address === query["loop"]) ?? all.find((one) => one.iterations > 1) ?? all[0];
  if (!loop) return <Nothing id={id} title="This run has no loop" isPage />;
  return <LoopComparison key={id} id={id} loop={loop} loops={all} query={query} />;
}

function Nothing({ id, title, isPage = false }: { id: string; title: string; isPage?: boolean }) {
  return (
    <Empty title={title} isPage={isPage}>
      <p>Two finished iterations of a loop can be compared.</p>
      <Link to={runPath(id)}>Back to the run</Link>
    </Empty>
  );
}

interface LoopComparisonProps {
  id: string;
  loop: LoopItem;
  loops: readonly LoopItem[];
  query: Record<string, string>;
}

function LoopComparison({ id, loop, loops, query }: LoopComparisonProps) {
  const against = query["with"] || id;
  const { address } = loop;
  const go = (place: Record<string, string>) => navigate(runPath(id, "/diff"), place, { replace: true });
  return (
    <section className="screen screen-compare">
      <div className="screen-head">
        <h1>Diff</h1>
        <Link to={runPath(id)}>run {id}</Link>
        {loops.length > 1 && <Picker label="Loop" value={address} options={loops.map((each) => each.address)} onPick={(chosen) => go({ loop: chosen })} />}
        <OtherRun id={id} against={against} onPick={(run) => go({ loop: address, ...(run === id ? {} : { with: run }) })} />
      </div>
      <Iterations key={`${address} ${against}`} id={id} against={against} loop={loop} query={query} />
    </section>
  );
}

function Iterations({ id, against, loop, query }: Omit<LoopComparisonProps, "loops"> & { against: string }) {
  const isOne = against === id;
  const matrix = useLoad((client, signal) => client.matrix(id, loop.address, signal), [id, loop.address]);
  const theirs = useLoad((client, signal) => (against === id ? Promise.resolve(null) : numbersIn(client, against, loop.address, signal)), [id, against, loop.address]);
  const fault = matrix.error ?? theirs.error;
  if (fault) return <ErrorNotice error={fault} onRetry={matrix.error ? matrix.reload : theirs.reload} />;
  if (!matrix.value || (!isOne && !theirs.value)) return <Loading what="the iterations" />;
  const numbers = numbersOf(matrix.value, loop);
  const others = theirs.value ?? numbers;
  const last = matrix.value.iterations.at(-1)?.number;
  const [one, other] = isOne ? chosenPair(numbers, query, last) : pairOfTwo(numbers, others, query);
  const lacking = isOne ? "fewer than two finished iterations" : "no finished iteration in one of the two runs";
  if (one === undefined || other === undefined) return <Nothing id={id} title={`Loop ${loop.address} has ${lacking}`} />;
  return <Two id={id} against={against} loop={loop} matrix={matrix.value} numbers={[numbers, others]} one={one} other={other} query={query} />;
}

/** The finished iterations of the same loop in another run. */
async function numbersIn(client: Client, run: string, address: string, signal: AbortSignal): Promise<number[]> {
  const [matrix, { loops }] = await Promise.all([client.matrix(run, address, signal), client.loops(run, signal)]);
  const loop = loops.find((one) => one.address === address);
  return loop ? numbersOf(matrix, loop) : [];
}

const RUNS_MAX = 50;

/** With which run of the same workflow it is compared. */
function OtherRun({ id, against, onPick }: { id: string; against: string; onPick: (run: string) => void }) {
  const runs = useLoad(
    async (client, signal) => {
      const { name } = await client.run(id, signal);
      return (await client.runs({ workflow: name, limit: RUNS_MAX }, signal)).runs.map((run) => run.id);
    },
    [id],
  );
  const all = [...new Set([id, against, ...(runs.value ?? [])])];
  return all.length < 2 ? null : <Picker label="With" value={against} options={all} format={(run) => (run === id ? "this run" : `run ${run}`)} onPick={onPick} />;
}

const LISTED_MAX = 200;

/** The iterations that can be chosen. The matrix has only the newest of very many. */
export function numbersOf(matrix: Pick<MatrixItem, "iterations">, loop: Pick<LoopItem, "iterations">): number[] {
  if (matrix.iterations.length < LISTED_MAX) return matrix.iterations.map((row) => row.number);
  return Array.from({ length: loop.iterations }, (_, index) => index + 1);
}

interface TwoProps {
  id: string;
  /** The run that the second one is of. */
  against: string;
  loop: LoopItem;
  matrix: MatrixItem;
  /** What can be chosen on each side. */
  numbers: readonly [number[], number[]];
  one: number;
  other: number;
  query: Record<string, string>;
}

function Two({ id, against, loop, matrix, numbers: [numbers, others], one, other, query }: TwoProps) {
  const isOne = against === id;
  const pair = useLoad(
    (client, signal) => client.diff(id, loop.address, { one, other, against: against === id ? undefined : against }, signal),
    [id, against, loop.address, one, other],
  );
  const go = (change: Record<string, string | number>) =>
    navigate(runPath(id, "/diff"), { ...query, loop: loop.address, one, other, ...change }, { replace: true });
  return (
    <>
      <div className="toolbar">
        <NumberPicker label="Before" value={one} numbers={numbers} onPick={(number) => go({ one: number })} />
        <span aria-hidden="true" className="faint">
          ↔
        </span>
        <NumberPicker label="After" value={other} numbers={others} onPick={(number) => go({ other: number })} />
        {pair.value && <Pair pair={pair.value} other={other} numbers={others} query={query} go={go} />}
      </div>
      {pair.error !== null && <ErrorNotice error={pair.error} onRetry={pair.reload} />}
      {pair.value && <Body runs={[id, against]} loop={loop} pair={pair.value} query={query} />}
      {isOne && <Matrix matrix={matrix} one={one} other={other} node={query["node"] ?? ""} onPick={(before, after, node) => go({ one: before, other: after, node })} />}
    </>
  );
}

/** The pair in the address; without one, the last two that are finished. */
export function chosenPair(
  numbers: readonly number[],
  query: Record<string, string>,
  last = numbers.at(-1),
): [number | undefined, number | undefined] {
  if (numbers.length < 2) return [undefined, undefined];
  const known = (text: string | undefined) => numbers.find((number) => String(number) === text);
  const other = known(query["other"]) ?? last;
  const before = numbers[numbers.indexOf(other ?? 0) - 1] ?? numbers[1];
  return [known(query["one"]) ?? before, other];
}

/** Of two runs: the pair in the address; without one, the last of each. */
export function pairOfTwo(numbers: readonly number[], others: readonly number[], query: Record<string, string>): [number | undefined, number | undefined] {
  const known = (list: readonly number[], text: string | undefined) => list.find((number) => String(number) === text) ?? list.at(-1);
  return [known(numbers, query["one"]), known(others, query["other"])];
}

interface PairProps {
  pair: Comparison;
  /** The one that is chosen; the pair may still be on its way. */
  other: number;
  numbers: readonly number[];
  query: Record<string, string>;
  go: (change: Record<string, string | number>) => void;
}

/** What is compared of the two, how it is shown, and the keys for all of it. */
function Pair({ pair, other, numbers, query, go }: PairProps) {
  const names = nodeChoices(pair.one.results, pair.other.results);
  const node = nodeOf(pair, query);
  const view = viewOf(query);
  const step = (list: readonly (string | number)[], now: string | number, by: number) =>
    list[Math.min(list.length - 1, Math.max(0, list.indexOf(now) + by))] ?? now;
  useKeys({
    j: { label: KEY_LABELS.j, run: () => go({ other: step(numbers, other, 1) }) },
    k: { label: KEY_LABELS.k, run: () => go({ other: step(numbers, other, -1) }) },
    "]": { label: KEY_LABELS["]"], run: () => go({ node: step(names, node, 1) }) },
    "[": { label: KEY_LABELS["["], run: () => go({ node: step(names, node, -1) }) },
    d: { label: KEY_LABELS.d, run: () => go({ one: step(numbers, other, -1) }) },
    v: { label: "another view", run: () => go({ view: VIEWS[(VIEWS.indexOf(view) + 1) % VIEWS.length] ?? view }) },
  });
  return (
    <>
      <Picker label="Result of" value={node} options={names} onPick={(name) => go({ node: name })} />
      <fieldset className="segments">
        <legend className="sr-only">View</legend>
        {VIEWS.map((each) => (
          <label key={each} className={each === view ? "is-chosen" : ""}>
            <input type="radio" name="view" checked={each === view} onChange={() => go({ view: each })} />
            {each}
          </label>
        ))}
      </fieldset>
      <Similarity pair={pair} node={node} />
    </>
  );
}

function nodeOf(pair: Comparison, query: Record<string, string>): string {
  const asked = query["node"] ?? "";
  const names = nodeChoices(pair.one.results, pair.other.results);
  return names.includes(asked) ? asked : firstChoice(pair.one.results, pair.other.results);
}

function viewOf(query: Record<string, string>): View {
  return VIEWS.find((one) => one === query["view"]) ?? "unified";
}

function Similarity({ pair, node }: { pair: Comparison; node: string }) {
  const step = node in pair.other.results || node in pair.one.results ? node : node.slice(0, node.lastIndexOf("."));
  const change = pair.steps.find((one) => one.name === step);
  if (!change) return null;
  return (
    <span className="similarity">
      similarity of {step} <strong>{words.score(change.similarity, 1)}</strong>
    </span>
  );
}

function Body({ runs, loop, pair, query }: { runs: readonly [string, string]; loop: LoopItem; pair: Comparison; query: Record<string, string> }) {
  const node = nodeOf(pair, query);
  const [id, against] = runs;
  const isOne = id === against;
  return (
    <div className="compare-columns">
      <div className="compare-texts">
        <Texts runs={runs} pair={pair} node={node} view={viewOf(query)} />
      </div>
      <aside className="compare-side" aria-label="figures">
        <Figures runs={runs} pair={pair} />
        <Actions run={id} loop={loop.address} numbers={isOne ? [pair.one.number, pair.other.number] : [pair.one.number]} />
        <Command text={commands.diff(id, pair.one.number, pair.other.number, node.split(".")[0], loop.address, isOne ? undefined : against)} />
      </aside>
    </div>
  );
}

interface NumberPickerProps {
  label: string;
  value: number;
  numbers: readonly number[];
  onPick: (number: number) => void;
}

/** A list of iterations; where there are very many, their number is typed. */
function NumberPicker({ label, value, numbers, onPick }: NumberPickerProps) {
  const id = useId();
  if (numbers.length <= LISTED_MAX) {
    return <Picker label={label} value={String(value)} options={numbers.map(String)} format={(number) => `#${number}`} onPick={(number) => onPick(Number(number))} />;
  }
  const type = (text: string) => numbers.includes(Number(text)) && onPick(Number(text));
  return (
    <span className="picker">
      <label htmlFor={id}>{label}</label>
      <input id={id} type="number" min={1} max={numbers.length} key={value} defaultValue={value} onBlur={(event) => type(event.target.value)} onKeyDown={(event) => event.key === "Enter" && type(event.currentTarget.value)} />
    </span>
  );
}

interface PickerProps {
  label: string;
  value: string;
  options: readonly string[];
  format?: (option: string) => string;
  onPick: (option: string) => void;
}

function Picker({ label, value, options, format = (option) => option, onPick }: PickerProps) {
  const id = useId();
  return (
    <span className="picker">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onPick(event.target.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {format(option)}
          </option>
        ))}
      </select>
    </span>
  );
}
