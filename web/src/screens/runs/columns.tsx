/** What the list says of a run. */
import type { RunItem } from "../../api";
import { Link, runPath } from "../../app/router";
import { levelOf, Meter, Sparkline, StatusBadge, type Column } from "../../charts";
import { nameOf, words } from "../../journal";
import { exitWords, loopWords } from "./list";

export function columnsAt(now: number): readonly Column<RunItem>[] {
  return [
    { key: "status", head: "Status", cell: (run) => <StatusBadge status={run.status} mark={run.mark ?? null} />, width: "122px" },
    { key: "workflow", head: "Workflow", cell: (run) => <Workflow run={run} /> },
    { key: "run", head: "Run", cell: (run) => <RunLink run={run} />, width: "190px" },
    { key: "loop", head: "Loop", cell: (run) => <Loop run={run} /> },
    { key: "score", head: "Score", cell: (run) => <Score run={run} />, width: "138px" },
    { key: "cost", head: "Cost / budget", cell: (run) => <Meter label="cost" value={run.cost_usd} max={run.budget_usd} format={words.dollars} formatMax={words.budget} />, width: "222px" },
    { key: "exit", head: "Exit", cell: (run) => <Exit run={run} /> },
    { key: "age", head: "Age", isNumber: true, cell: (run) => <Age run={run} now={now} />, width: "64px" },
  ];
}

/** Whether the row is marked: from 80 % of the budget on. */
export const rowClass = (run: RunItem): string => (levelOf(run.cost_usd, run.budget_usd) === "plain" ? "" : "row-near");

function Workflow({ run }: { run: RunItem }) {
  return (
    <span title={run.file}>
      <span className="strong">{words.visible(run.name)}</span>
      {run.dialect !== "native" && <span className="faint"> {run.dialect}</span>}
    </span>
  );
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

function Exit({ run }: { run: RunItem }) {
  const text = exitWords(run);
  const told = run.exit_reason ? words.reasonWords(run.exit_reason, run.stopped_by) : text;
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
