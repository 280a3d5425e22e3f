/** What a run asks of a person: the question, what it is about, and the answers. */
import { useEffect } from "react";
import type { RunDetail } from "../../api";
import { useNow } from "../../app/clock";
import { KEY_LABELS, useKeys } from "../../app/keys";
import { Empty, ErrorNotice, LiveIndicator, Loading } from "../../app/Notice";
import { Link, navigate, runPath } from "../../app/router";
import { RunProvider, useJournal, useRunState, useRunView } from "../../app/run";
import { useLoad } from "../../app/session";
import { StatusBadge } from "../../charts";
import { askerWords, subjectOf } from "../../dialogs/gates";
import { openGates, words, type GateState } from "../../journal";
import type { ScreenProps } from "..";
import { Answers } from "./Answers";
import { Judgement } from "./Judgement";
import { Subject } from "./Subject";

export default function GateScreen({ values, query }: ScreenProps) {
  const id = values["id"] ?? "";
  return (
    <RunProvider id={id}>
      <Waiting id={id} address={query["address"] ?? ""} />
    </RunProvider>
  );
}

function Waiting({ id, address }: { id: string; address: string }) {
  const gates = useJournal(openGates);
  const lastSeq = useJournal((journal) => journal.lastSeq);
  const state = useRunState();
  const connection = useRunView((view) => view.connection);
  const detail = useLoad((client, signal) => client.run(id, signal), [id, state.status]);
  const gate = gates.find((one) => one.address === address) ?? gates[0];
  if (detail.error) return <ErrorNotice error={detail.error} onRetry={detail.reload} />;
  const run = detail.value;
  if (!run || (lastSeq === 0 && run.last_seq > 0)) return <Loading what="the question" />;
  return (
    <section className="screen screen-gate">
      <div className="screen-head">
        <StatusBadge status={state.status} />
        <Link to={runPath(id)}>{run.name}</Link>
        <span className="faint">run {id}</span>
        <LiveIndicator state={connection} />
      </div>
      {gates.length > 1 && (
        <nav className="gate-tabs" aria-label="open questions">
          {gates.map((one) => (
            <Link key={one.address} className="button" to={runPath(id, "/gate")} query={{ address: one.address }} aria-current={one === gate ? "true" : undefined}>
              {one.address}
            </Link>
          ))}
        </nav>
      )}
      {gate ? <Question key={gate.address} run={run} gate={gate} seen={lastSeq} hasOthers={gates.length > 1} /> : <Nothing id={id} />}
    </section>
  );
}

function Nothing({ id }: { id: string }) {
  const decided = useJournal((journal) => [...journal.gates.values()].findLast((gate) => gate.decided));
  return (
    <Empty title="Nothing waits for you">
      {decided?.decided && (
        <p role="status">
          {decided.decided.approved ? "✓ approved" : "✗ sent back"}: {words.visible(decided.message)}
        </p>
      )}
      <Link to={runPath(id)}>To the run</Link>
    </Empty>
  );
}

interface QuestionProps {
  run: RunDetail;
  gate: GateState;
  seen: number;
  hasOthers: boolean;
}

function Question({ run, gate, seen, hasOthers }: QuestionProps) {
  const subject = useJournal((journal) => subjectOf(gate.address, (loop) => journal.loops.get(loop)?.number ?? 1), [gate.address]);
  useEffect(() => {
    document.querySelector<HTMLElement>(".gate-question")?.focus();
  }, [gate.address]);
  useKeys({
    a: { label: KEY_LABELS.a, run: () => document.querySelector<HTMLElement>("#answer-approve")?.focus() },
    d: {
      label: KEY_LABELS.d,
      run: () => subject && navigate(runPath(run.id, "/compare"), { loop: subject.loop, other: subject.number, one: subject.number - 1 }),
    },
  });
  return (
    <>
      <div>
        <p className="gate-head faint">
          <code>{gate.address}</code>
          <span>asked by {askerWords(gate.reason)}</span>
          <Since at={gate.since} />
        </p>
        <h1 className="gate-question" tabIndex={-1}>
          {words.visible(gate.message)}
        </h1>
      </div>
      <div className="gate-columns">
        <Subject run={run.id} gate={gate} subject={subject} />
        <div className="gate-side">
          {subject && <Judgement loop={subject.loop} number={subject.number} />}
          <Answers run={run} gate={gate} subject={subject} seen={seen} hasOthers={hasOthers} />
        </div>
      </div>
    </>
  );
}

function Since({ at }: { at: number }) {
  const now = useNow();
  return <span title={new Date(at * 1000).toLocaleString()}>waiting {words.age(now - at)}</span>;
}
