/** What the list says of a run. */
import type { RunItem } from "../../api";
import { Link, runPath } from "../../app/router";
import { levelOf, Meter, Sparkline, StatusBadge, type Column } from "../../charts";
import { nameOf, words } from "../../journal";
import { exitWords, loopWords, sortedBy, type Filters } from "./list";

export function columnsAt(now: number, filters: Filters, onSort: (filters: Filters) => void): readonly Column<RunItem>[] {
  const head = (key: string, name: string) => <SortHead name={name} isOn={(filters.sort || "started") === key} isReversed={filters.reverse !== ""} onSort={() => onSort(sortedBy(filters, key))} />;
  return [
    { key: "status", head: "Status", cell: (run) => <StatusBadge status={run.status} mark={run.mark ?? null} />, width: "122px" },
    { key: "workflow", head: "Workflow", cell: (run) => <Workflow run={run} /> },
    { key: "run", head: "Run", cell: (run) => <RunLink run={run} />, width: "184px" },
    { key: "given", head: "Input", cell: (run) => <Given run={run} /> },
    { key: "loop", head: "Loop", cell: (run) => <Loop run={run} /> },
    { key: "score", head: head("score", "Score"), cell: (run) => <Score run={run} />, width: "138px" },
    { key: "cost", head: head("cost", "Cost / budget"), cell: (run) => <Meter label="cost" value={run.cost_usd} max={run.budget_usd} format={(amount) => words.paid(amount, run.reserved_usd)} formatMax={words.budget} />, width: "220px" },
    { key: "exit", head: "Exit", cell: (run) => <Exit run={run} now={now} /> },
    { key: "time", head: head("time", "Time"), isNumber: true, cell: (run) => <span title="working time">{run.seconds > 0.001 ? words.duration(run.seconds) : "–"}</span>, width: "84px" },
    { key: "age", head: head("started", "Age"), isNumber: true, cell: (run) => <Age run={run} now={now} />, width: "74px" },
  ];
}

/** Whether the row is marked: from 80 % of the budget on. */
export const rowClass = (run: RunItem): string => (levelOf(run.cost_usd, run.budget_usd) === "plain" ? "" : "row-near");

function Workflow({ run }: { run: RunItem }) {
  return (
    <span title={run.file}>
      <span className="strong">{words.visible(run.name)}</span>
      {run.dialect !== "native" && <span className="faint"> {run.dialect}</span>}
      {run.project && <span className="faint" title={run.project}> of {words.visible(run.project)}</span>}
    </span>
  );
}

function SortHead({ name, isOn, isReversed, onSort }: { name: string; isOn: boolean; isReversed: boolean; onSort: () => void }) {
  return (
    <button type="button" className="sort-head" aria-pressed={isOn} onClick={onSort} title={`sort by ${name.toLowerCase()}`}>
      {name}
      {isOn && <span aria-label={isReversed ? "lowest first" : "highest first"}>{isReversed ? " ↑" : " ↓"}</span>}
    </button>
  );
}

function Given({ run }: { run: RunItem }) {
  if (!run.given) return <span className="faint">–</span>;
  return <span title={run.given}>{words.visible(run.given)}</span>;
}

function RunLink({ run }: { run: RunItem }) {
  return (
    <>
      <Link to={runPath(run.id)} className="mono">
        {run.id}
      </Link>
      {run.parent && (
        <span className="faint fork-mark" title={`fork of ${run.parent}`}>
          {" "}
          fork
        </span>
      )}
    </>
  );
}

function Loop({ run }: { run: RunItem }) {
  if (!run.loop) return <span className="faint">–</span>;
  return (
    <span title={run.loop}>
      {words.visible(nameOf(run.loop))} <span className="figure">{loopWords(run)}</span>
    </span>
  );
}

function Score({ run }: { run: RunItem }) {
  if (run.score === null && run.scores.every((score) => score === null)) return <span className="faint">–</span>;
  return (
    <span className="score-cell">
      <Sparkline scores={run.scores} target={run.target} />
      {run.score !== null && <span className="figure">{words.score(run.score, run.target)}</span>}
    </span>
  );
}

function Exit({ run, now }: { run: RunItem; now: number }) {
  const text = exitWords(run, now);
  const isTold = run.exit_reason && text !== "–";
  const told = isTold ? `${words.reasonWords(run.exit_reason ?? "", run.stopped_by)}: ${words.endCode(run.exit_reason ?? "", run.stopped_by)}` : text;
  return (
    <span className={text === "–" ? "faint" : ""} title={told}>
      {words.visible(text)}
    </span>
  );
}

function Age({ run, now }: { run: RunItem; now: number }) {
  const date = new Date(run.created_at * 1_000);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {words.age(now - run.created_at)}
    </time>
  );
}
