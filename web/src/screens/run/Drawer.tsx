/** One node, close up: what it was given, what it says while it works, what came of it. */
import { useEffect, useRef, useState } from "react";
import type { Graph, GraphNode, NodeDetail } from "../../api";
import { Link, runPath } from "../../app/router";
import { selectNode, useJournal, useNode, useRunStore, useRunView } from "../../app/run";
import { useLoad } from "../../app/session";
import { Value } from "../../app/Value";
import { StatusBadge } from "../../charts";
import { canvasStates } from "../../graph";
import { addressOf, iterationOf, scopeOf, splitIteration, tally, tokensOf, words, type Attempt, type Json } from "../../journal";
import { neighbour, readingOrder } from "./focus";
import { OutsideNote } from "./Verdict";

interface DrawerProps {
  id: string;
  graph: Graph;
  path: string;
}

export function Drawer({ id, graph, path }: DrawerProps) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const address = useJournal((journal) => addressOf(journal, path, chosen), [path, chosen]);
  const node = graph.nodes.find((one) => one.path === path);
  const title = useRef<HTMLHeadingElement>(null);
  const opener = useRef<Element | null>(null);
  const close = () => {
    selectNode(store, "");
    if (opener.current instanceof HTMLElement) opener.current.focus({ preventScroll: true });
  };
  useEffect(() => {
    opener.current = document.activeElement;
    title.current?.focus({ preventScroll: true });
  }, []);
  const go = (step: 1 | -1) => selectNode(store, neighbour(readingOrder(graph), path, step));
  return (
    <section
      className="drawer"
      role="dialog"
      aria-label={`node ${node?.title || path}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <header className="drawer-head">
        <h2 ref={title} tabIndex={-1}>
          {words.visible(node?.title || node?.name || path)}
        </h2>
        <button type="button" className="button button-icon" aria-label="previous node" title="previous node ([)" onClick={() => go(-1)}>
          ◂
        </button>
        <button type="button" className="button button-icon" aria-label="next node" title="next node (])" onClick={() => go(1)}>
          ▸
        </button>
        <button type="button" className="button button-icon" aria-label="close" title="close (Escape)" onClick={close}>
          ✕
        </button>
      </header>
      <NodeView key={address} id={id} address={address} graph={graph} node={node} path={path} />
    </section>
  );
}

interface NodeViewProps {
  id: string;
  address: string;
  graph: Graph;
  node: GraphNode | undefined;
  path: string;
}

function NodeView({ id, address, graph, node, path }: NodeViewProps) {
  const state = useNode(address);
  const chosen = useRunView((view) => view.chosen);
  const status = useJournal((journal) => canvasStates(journal, graph, chosen).get(path)?.status ?? "idle", [graph, chosen, path]);
  const gate = useJournal((journal) => journal.gates.get(address), [address]);
  const [picked, setPicked] = useState<string | null>(null);
  const attempts = state?.attempts ?? [];
  const attempt = attempts.find((one) => one.address === picked) ?? attempts.at(-1);
  // What the journal does not hold: the value of a step that only computes, and the iteration before.
  const detail = useLoad<NodeDetail | null>(
    (client, signal) => (status === "idle" ? Promise.resolve(null) : client.node(id, address, signal).catch(() => null)),
    [id, address, status],
  );
  const isDone = attempt !== undefined && !["running", "retrying"].includes(attempt.status);
  const output = attempt ? attempt.value : ((detail.value?.value ?? null) as Json);
  const previous = detail.value?.previous ?? null;
  return (
    <div className="drawer-body">
      <div className="drawer-facts">
        <StatusBadge status={status} />
        <span className="mono faint">{address}</span>
      </div>
      <p className="figure faint drawer-figures">{figures(node, attempt).join(" · ")}</p>
      <Overall path={path} />
      <Scored address={address} />
      {attempts.length > 1 && <Attempts attempts={attempts} shown={attempt} onPick={setPicked} />}
      {attempt?.status === "in_doubt" && (
        <p className="banner tone-wait">
          <strong>
            <span aria-hidden="true">?</span> In doubt
          </strong>{" "}
          It was sent, and nobody knows whether it was carried out: the process ended before an answer came.
        </p>
      )}
      {attempt?.error && (
        <div className="problem-box">
          <strong>
            <span aria-hidden="true">✗</span> {attempt.error.code || "Failed"}
          </strong>
          <pre className="value" tabIndex={0}>{words.visible(attempt.error.message)}</pre>
        </div>
      )}
      {gate && (
        <Part title="Question">
          <p>{words.visible(gate.message)}</p>
          {gate.decided ? (
            <p className="faint">
              {gate.decided.approved ? "Approved" : "Rejected"}
              {gate.decided.feedback ? `: ${words.visible(gate.decided.feedback)}` : ""}
            </p>
          ) : (
            <Link to={runPath(id, "/gate")} query={{ address }} className="button button-main">
              Look and decide
            </Link>
          )}
          <Value run={id} value={gate.show} empty="It shows nothing." />
        </Part>
      )}
      {status === "idle" && <p className="faint">It has not run in this iteration.</p>}
      {state?.branch && (
        <p>
          Took the branch <code>{words.visible(state.branch)}</code>.
        </p>
      )}
      {(attempt || output !== null) && !gate && (
        <div className={previous ? "drawer-pair" : ""}>
          <Part title={attempt?.text ? "Output so far" : "Output"}>
            {attempt?.text ? <Streaming text={attempt.text} /> : <Value run={id} value={output} empty={isDone ? "No output." : "Nothing yet."} />}
          </Part>
          {previous && (
            <Part title={`Iteration before${numberWords(previous.address)}`}>
              <Value run={id} value={previous.output} empty="It had no output." />
            </Part>
          )}
        </div>
      )}
      {attempt && attempt.inputs !== null && (
        <Part title="Given">
          <Value run={id} value={attempt.inputs} />
        </Part>
      )}
    </div>
  );
}

/** What is wrong with the score of the iteration that the node stands in. */
function Scored({ address }: { address: string }) {
  const outside = useJournal((journal) => {
    const split = splitIteration(scopeOf(address));
    const loop = split && journal.loops.get(split.loop);
    return loop ? (iterationOf(loop, split.number)?.outside ?? null) : null;
  }, [address]);
  return outside && <OutsideNote outside={outside} />;
}

/** The node over all iterations: what "aggregated" comes to. */
function Overall({ path }: { path: string }) {
  const sum = useJournal((journal) => tally(journal, path), [path]);
  if (sum.total < 2) return null;
  const parts = [`${sum.total} times`, words.duration(sum.seconds), `${words.tokens(sum.tokens)} tokens`, words.dollars(sum.cost_usd)];
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

function figures(node: GraphNode | undefined, attempt: Attempt | undefined): string[] {
  const kind = attempt?.kind || node?.task || node?.kind || "";
  if (!attempt) return [kind, node?.detail ?? ""].filter((one, index, all) => one && all.indexOf(one) === index).map(words.visible);
  const time = attempt.endedAt === null ? "" : words.duration(attempt.endedAt - attempt.startedAt);
  const { usage } = attempt;
  const used = tokensOf(usage) ? `${words.tokens(usage.input_tokens)} in, ${words.tokens(usage.output_tokens)} out` : "";
  const cost = usage.calls ? words.dollars(usage.cost_usd) : "";
  return [kind, attempt.model, time, used, cost].filter(Boolean).map(words.visible);
}

function numberWords(address: string): string {
  const split = splitIteration(scopeOf(address));
  return split ? ` (#${split.number})` : "";
}
