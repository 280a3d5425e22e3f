/** What a run asks of a person: the question of the address, what it is about, and the answers. */
import { useEffect, useMemo, useState } from "react";
import type { RunDetail } from "../../api";
import { useNow } from "../../app/clock";
import { KEY_LABELS, useKeys } from "../../app/keys";
import { Empty, ErrorNotice, LiveIndicator, Loading } from "../../app/Notice";
import { Link, navigate, runPath } from "../../app/router";
import { RunProvider, useJournal, useRunState, useRunView } from "../../app/run";
import { useLoad, useMay } from "../../app/session";
import { useTitle } from "../../app/title";
import { StatusBadge } from "../../charts";
import type { Edits } from "../../dialogs/changes";
import { useDraft } from "../../dialogs/drafts";
import { askerWords, isOpen, sameQuestion, subjectOf } from "../../dialogs/gates";
import { openGates, words, type GateState } from "../../journal";
import type { ScreenProps } from "..";
import { Answered } from "./Answered";
import { Answers } from "./Answers";
import { Judgement } from "./Judgement";
import { Subject } from "./Subject";
import { useSending } from "./useSending";

export default function GateScreen({ values, query }: ScreenProps) {
  const id = values["id"] ?? "";
  const address = query["at"] ?? "";
  return (
    <RunProvider id={id}>
      <Loaded id={id} address={address} />
    </RunProvider>
  );
}

function Loaded({ id, address }: { id: string; address: string }) {
  const state = useRunState();
  const lastSeq = useJournal((journal) => journal.lastSeq);
  const detail = useLoad((client, signal) => client.run(id, signal), [id], [state.status]);
  // In the middle of an old journal, questions are open that were answered long ago.
  const [isCaughtUp, setCaughtUp] = useState(false);
  if (!isCaughtUp && detail.value && lastSeq >= detail.value.last_seq) setCaughtUp(true);
  if (detail.error) return <ErrorNotice error={detail.error} isPage onRetry={detail.reload} />;
  if (!detail.value || !isCaughtUp) return <Loading what="the approval" />;
  return <Waiting key={address} run={detail.value} address={address} />;
}

function Waiting({ run, address }: { run: RunDetail; address: string }) {
  const state = useRunState();
  const connection = useRunView((view) => view.connection);
  const gates = useJournal(openGates);
  const newest = useJournal((journal) => journal.gates.get(address), [address]);
  // The question stays as long as nobody goes on to another one, also where its address asks again.
  const [shown, setShown] = useState(newest);
  const gate = sameQuestion(shown, newest);
  if (gate !== shown) setShown(gate);
  const first = gates[0]?.address;
  useTitle(`${run.name}: approvals`, gates.length);
  useEffect(() => {
    // From here on the address says which question is meant.
    if (!address && first) navigate(runPath(run.id, "/approvals"), { at: first }, { replace: true });
  }, [run.id, address, first]);
  return (
    <section className="screen screen-gate">
      <div className="screen-head">
        <StatusBadge status={state.status} mark={run.status === "succeeded" ? (run.mark ?? null) : null} />
        <strong>Approvals</strong>
        <Link to={runPath(run.id)}>{run.name}</Link>
        <span className="faint">run {run.id}</span>
        <LiveIndicator state={connection} isOver={["succeeded", "failed", "cancelled"].includes(state.status)} />
      </div>
      {gates.length > 1 && (
        <nav className="gate-tabs" aria-label="open approvals">
          {gates.map((one) => (
            <Link key={one.address} className="button" to={runPath(run.id, "/approvals")} query={{ at: one.address }} aria-current={one === gate ? "true" : undefined}>
              {one.address}
            </Link>
          ))}
        </nav>
      )}
      {gate ? (
        <Question key={gate.seq} run={run} gate={gate} next={gates.find((one) => one.seq !== gate.seq)} onNext={() => setShown(newest)} />
      ) : (
        <Nothing id={run.id} address={address} next={first} />
      )}
    </section>
  );
}

function Nothing({ id, address, next }: { id: string; address: string; next: string | undefined }) {
  return (
    <Empty title={address ? `There is no approval at ${words.visible(address)}` : "No approval waits for you"} isPage>
      {next && (
        <p>
          <Link to={runPath(id, "/approvals")} query={{ at: next }}>
            next approval →
          </Link>
        </p>
      )}
      <Link to={runPath(id)}>To the run</Link>
    </Empty>
  );
}

interface QuestionProps {
  run: RunDetail;
  gate: GateState;
  next: GateState | undefined;
  onNext: () => void;
}

function Question({ run, gate, next, onNext }: QuestionProps) {
  const subject = useJournal((journal) => subjectOf(gate.address, (loop) => journal.loops.get(loop)?.number ?? 1), [gate.address]);
  const { why } = useMay("approve");
  const seen = useJournal((journal) => journal.lastSeq);
  const [feedback, setFeedback] = useDraft(run.id, gate.address);
  const [edited, setEdited] = useDraft(run.id, `${gate.address} edits`);
  const edits = useMemo(() => (edited ? (JSON.parse(edited) as Edits) : {}), [edited]);
  const forget = () => {
    setFeedback("");
    setEdited("");
  };
  const sending = useSending(forget);
  const unsent = sending.label === "" ? [feedback, ...Object.values(edits)].filter(Boolean).join("\n\n") : "";
  useEffect(() => {
    document.querySelector<HTMLElement>(".gate-question")?.focus();
  }, []);
  useKeys({
    a: { label: KEY_LABELS.a, run: () => document.querySelector<HTMLElement>("#answer-approve")?.focus() },
    d: {
      label: KEY_LABELS.d,
      run: () => subject && navigate(runPath(run.id, "/diff"), { loop: subject.loop, other: subject.number, one: subject.number - 1 }),
    },
  });
  return (
    <>
      <div>
        <p className="gate-head faint">
          <code>{gate.address}</code>
          <span>asked by {askerWords(gate.reason)}</span>
          {isOpen(gate) && <Since at={gate.since} />}
        </p>
        <h1 className="gate-question" tabIndex={-1}>
          {words.visible(gate.message)}
        </h1>
      </div>
      <div className="gate-columns">
        <Subject run={run.id} gate={gate} subject={subject} />
        <div className="gate-side">
          {subject && <Judgement loop={subject.loop} number={subject.number} />}
          {isOpen(gate) && why ? (
            <p className="problem">{why}</p>
          ) : isOpen(gate) ? (
            <div className="gate-next" role="group" aria-label="answers">
              <Answers run={run} gate={gate} subject={subject} seen={seen} feedback={feedback} onFeedback={setFeedback} edits={edits} onEdits={(next) => setEdited(JSON.stringify(next))} sending={sending} />
            </div>
          ) : (
            <Answered run={run.id} gate={gate} isMine={sending.label !== ""} unsent={unsent} onDiscard={forget} next={next} onNext={onNext} />
          )}
        </div>
      </div>
    </>
  );
}

function Since({ at }: { at: number }) {
  const now = useNow();
  return <span title={new Date(at * 1000).toLocaleString()}>waiting {words.age(now - at)}</span>;
}
