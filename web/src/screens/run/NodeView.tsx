/** What became of a node: its record, and of tasks every attempt, also while it answers. */
import { useEffect, useRef, useState } from "react";
import type { Graph, GraphNode, StepDetail, RecordItem } from "../../api";
import { Link, runPath } from "../../app/router";
import { useJournal, useNode, useRunView } from "../../app/run";
import { useLoad, useMay } from "../../app/session";
import { Value } from "../../app/Value";
import { StatusBadge } from "../../charts";
import { canvasStates } from "../../graph";
import { iterationOf, scopeOf, splitIteration, tally, tokensOf, usageFrom, words, type Attempt, type Fault, type Json, type Usage } from "../../journal";
import { faultFrom } from "../../journal/places";
import { Facts } from "./Facts";
import { Items } from "./Items";
import { OutsideNote } from "./Verdict";

interface NodeViewProps {
  id: string;
  address: string;
  graph: Graph;
  node: GraphNode | undefined;
  path: string;
  isElsewhere: boolean;
}

const NOT_STREAMED = "Nothing yet. Another process drives this run, so the text appears when the step has ended.";

export function NodeView({ id, address, graph, node, path, isElsewhere }: NodeViewProps) {
  const state = useNode(address);
  const chosen = useRunView((view) => view.chosen);
  const records = useRunView((view) => view.records);
  const status = useJournal((journal) => canvasStates(journal, graph, chosen, records).get(path)?.status ?? "idle", [graph, chosen, path, records]);
  const gate = useJournal((journal) => journal.gates.get(address), [address]);
  const { may } = useMay("approve");
  const [picked, setPicked] = useState<string | null>(null);
  const attempts = state?.attempts ?? [];
  const attempt = attempts.find((one) => one.address === picked) ?? attempts.at(-1);
  const newest = records.get(address);
  // The whole record, and what stood there in the iteration before.
  const detail = useLoad<StepDetail | null>(
    (client, signal) => (status === "idle" ? Promise.resolve(null) : client.step(id, address, signal).catch(() => null)),
    [id, address, status],
    [newest?.status, newest?.repetitions],
  );
  const record = detail.value?.record ?? newest ?? null;
  const isDone = attempt ? !["running", "retrying"].includes(attempt.status) : record?.ended_at != null;
  const output = attempt ? attempt.value : ((record?.output ?? null) as Json);
  const inputs = attempt?.inputs ?? ((record?.inputs ?? null) as Json);
  const error = attempt ? attempt.error : faultFrom((record?.error ?? undefined) as Json | undefined);
  const previous = detail.value?.previous ?? null;
  const isSkipped = status === "skipped";
  return (
    <div className="drawer-body">
      <div className="drawer-facts">
        <StatusBadge status={status} />
        <span className="mono faint">{address}</span>
      </div>
      <p className="figure faint drawer-figures">{figures(node, attempt, record).join(" · ")}</p>
      <Overall path={path} />
      <Judged address={address} />
      {attempts.length > 1 && <Attempts attempts={attempts} shown={attempt} onPick={setPicked} />}
      {attempt?.status === "in_doubt" && (
        <p className="banner tone-wait">
          <strong>
            <span aria-hidden="true">?</span> In doubt
          </strong>{" "}
          The call was sent, but the process ended before an answer came. It is not known whether the call was carried out.
        </p>
      )}
      <Ended record={record} error={error} branch={state?.branch || record?.branch || ""} />
      {gate && (
        <Part title="Approval">
          <p>{words.visible(gate.message)}</p>
          {gate.decided ? (
            <p className="faint">
              {gate.decided.approved ? "Approved" : "Rejected"}
              {gate.decided.feedback ? `: ${words.visible(gate.decided.feedback)}` : ""}
            </p>
          ) : (
            <Link to={runPath(id, "/approvals")} query={{ at: address }} className="button button-main">
              {may ? "Look and decide" : "Look at it"}
            </Link>
          )}
          <Value run={id} value={gate.show} empty="There is nothing to show." />
        </Part>
      )}
      {status === "idle" && <p className="faint">This step has not run in this iteration.</p>}
      {(attempt || record) && !gate && !isSkipped && (
        <div className={previous ? "drawer-pair" : ""}>
          <Part title={attempt?.text ? "Output so far" : "Output"}>
            {attempt?.text ? <Streaming text={attempt.text} /> : <Value run={id} value={output} empty={isDone ? "No output." : isElsewhere ? NOT_STREAMED : "Nothing yet."} />}
          </Part>
          {previous && (
            <Part title={`Iteration before${numberWords(previous.address)}`}>
              <Value run={id} value={previous.output} empty="It had no output." />
            </Part>
          )}
        </div>
      )}
      {node?.kind === "foreach" && <Items address={address} />}
      {inputs !== null && !gate && (
        <Part title={node?.kind === "task" ? "Given" : "Read"}>
          <Value run={id} value={inputs} />
        </Part>
      )}
    </div>
  );
}

/** How it ended, where that is not plain: why it was skipped or failed, which case was taken. */
function Ended({ record, error, branch }: { record: RecordItem | null; error: Fault | null; branch: string }) {
  return (
    <>
      {record?.why && (
        <p className="skipped">
          <span aria-hidden="true">↷</span> Skipped: {words.visible(record.why)}.
        </p>
      )}
      {error && (
        <div className="problem-box">
          <strong>
            <span aria-hidden="true">✗</span> {error.code || "Failed"}
          </strong>
          <pre className="value" tabIndex={0}>{words.visible(error.message)}</pre>
        </div>
      )}
      {record?.reason === "tolerated" && <p>The run continued without it.</p>}
      {branch && (
        <p>
          Took the case <code>{words.visible(branch)}</code>.
        </p>
      )}
    </>
  );
}

/** What the iteration that the node stands in came to: its score, if that is wrong, and the judge's reasons. */
function Judged({ address }: { address: string }) {
  const iteration = useJournal((journal) => {
    const split = splitIteration(scopeOf(address));
    const loop = split && journal.loops.get(split.loop);
    return loop ? iterationOf(loop, split.number) : undefined;
  }, [address]);
  if (!iteration) return null;
  return (
    <>
      {iteration.outside && <OutsideNote outside={iteration.outside} />}
      {iteration.facts.some((fact) => fact.reason) && (
        <Part title={`Verdict on #${iteration.number}`}>
          <Facts iteration={iteration} />
        </Part>
      )}
    </>
  );
}

/** The node over all iterations: what "aggregated" comes to. */
function Overall({ path }: { path: string }) {
  const sum = useJournal((journal) => tally(journal, path), [path]);
  if (sum.total < 2) return null;
  const parts = [`${sum.total} times`, words.duration(sum.seconds), `${words.tokens(sum.tokens)} tokens`, words.cost(sum)];
  return <p className="figure faint drawer-figures">In all iterations: {parts.join(" · ")}</p>;
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className="drawer-part" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Text as it comes; its end stays in view. */
function Streaming({ text }: { text: string }) {
  const end = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [text]);
  return (
    <pre ref={end} className="value streaming" aria-live="off" tabIndex={0}>
      {words.visible(text)}
      <span className="caret" aria-hidden="true" />
    </pre>
  );
}

function Attempts({ attempts, shown, onPick }: { attempts: readonly Attempt[]; shown: Attempt | undefined; onPick: (address: string) => void }) {
  return (
    <div className="attempts" role="group" aria-label="attempts">
      {attempts.map((one) => (
        <button key={one.address} type="button" className="button button-small" aria-pressed={one === shown} onClick={() => onPick(one.address)}>
          Attempt {one.number} <StatusBadge status={one.status} compact />
        </button>
      ))}
    </div>
  );
}

function figures(node: GraphNode | undefined, attempt: Attempt | undefined, record: RecordItem | null): string[] {
  const kind = attempt?.kind || node?.task || node?.kind || "";
  const detail = attempt || record ? "" : (node?.detail ?? "");
  const isSkipped = record?.status === "skipped";
  const seconds = isSkipped ? null : attempt ? (attempt.endedAt === null ? null : attempt.endedAt - attempt.startedAt) : (record?.seconds ?? null);
  const began = isSkipped ? null : attempt?.startedAt ?? record?.started_at ?? null;
  const at = began === null ? "" : new Date(began * 1_000).toLocaleTimeString();
  const time = seconds === null ? "" : words.duration(seconds);
  return [kind, detail, attempt?.model ?? "", at, time, ...usageWords(attempt?.usage ?? (record ? usageFrom(record.usage as Json) : undefined))].filter((one, index, all) => one && all.indexOf(one) === index).map(words.visible);
}

function usageWords(usage: Usage | undefined): string[] {
  if (!usage) return [];
  const used = tokensOf(usage) ? `${words.tokens(usage.input_tokens)} in, ${words.tokens(usage.output_tokens)} out` : "";
  return [used, usage.calls ? words.cost(usage) : ""];
}

function numberWords(address: string): string {
  const split = splitIteration(scopeOf(address));
  return split ? ` (#${split.number})` : "";
}
