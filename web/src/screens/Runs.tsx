/** All runs of the project, newest first, kept live. */
import { useEffect, useState } from "react";
import { followChanges, type Connection, type RunItem } from "../api";
import { Empty, ErrorNotice, LiveIndicator, Loading } from "../app/Notice";
import { Link, navigate, runPath } from "../app/router";
import { useClient, useLoad } from "../app/session";
import { Meter, Sparkline, StatusBadge, VirtualTable, type Column } from "../charts";
import { words } from "../journal";

const COLUMNS: readonly Column<RunItem>[] = [
  { key: "status", head: "Status", cell: (run) => <StatusBadge status={run.status} /> },
  { key: "workflow", head: "Workflow", cell: (run) => run.name },
  { key: "run", head: "Run", cell: (run) => <Link to={runPath(run.id)}>{run.id}</Link> },
  { key: "loop", head: "Loop", cell: (run) => (run.loop ? `${run.loop} ${run.iteration}/${run.iterations_max || "∞"}` : "–") },
  { key: "score", head: "Score", cell: (run) => <Sparkline scores={run.scores} target={run.target} /> },
  {
    key: "cost",
    head: "Cost / budget",
    cell: (run) => <Meter label="cost" value={run.cost_usd} max={run.budget_usd} format={words.dollars} />,
  },
  { key: "exit", head: "Exit", cell: (run) => run.exit_reason ?? "–" },
  { key: "age", head: "Age", isNumber: true, cell: (run) => words.age(Date.now() / 1000 - run.created_at) },
];

export default function Runs() {
  const client = useClient();
  const first = useLoad((api, signal) => api.runs({}, signal), []);
  const [changed, setChanged] = useState<ReadonlyMap<string, RunItem>>(new Map());
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    const onRun = (run: RunItem) => setChanged((before) => new Map(before).set(run.id, run));
    return followChanges(client, onRun, setConnection).close;
  }, [client]);
  if (first.error) return <ErrorNotice error={first.error} onRetry={first.reload} />;
  if (!first.value) return <Loading what="the runs" />;
  const known = new Map(first.value.runs.map((run) => [run.id, run]));
  const runs = [...new Map([...known, ...changed]).values()].sort((one, other) => other.created_at - one.created_at);
  return (
    <section className="screen">
      <div className="screen-head">
        <h1>Runs</h1>
        <LiveIndicator state={connection} />
      </div>
      {runs.length === 0 ? (
        <Empty title="No runs yet">
          <p>
            Start one: <code>whorl run FILE</code>
          </p>
        </Empty>
      ) : (
        <VirtualTable
          label="runs"
          rows={runs}
          columns={COLUMNS}
          rowKey={(run) => run.id}
          rowHeight={34}
          height="80vh"
          onSelect={(run) => navigate(runPath(run.id))}
        />
      )}
    </section>
  );
}
