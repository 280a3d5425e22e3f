/** What the run has to say as a whole: why it stopped, whom it waits for, what went wrong. */
import type { ReactNode } from "react";
import type { RunDetail } from "../../api";
import { useNow } from "../../app/clock";
import { Link, runPath } from "../../app/router";
import { chooseIteration, isReading, statusOf, useJournal, useRunState, useRunStore, useRunView } from "../../app/run";
import { useMay } from "../../app/session";
import { openDialog } from "../../dialogs";
import { endCounts, iterationOf, nameOf, openGates, siblingsOf, words, type Fault, type LoopState, type Mark } from "../../journal";
import { otherToReturn } from "./focus";
import { useMark } from "./useMark";

const LOOPS_MAX = 5;

interface BannersProps {
  id: string;
  detail: RunDetail;
  loop: LoopState | undefined;
}

export function Banners({ id, detail, loop }: BannersProps) {
  const status = useRunView(statusOf);
  const run = useRunState();
  const gates = useJournal(openGates);
  const warnings = useJournal((journal) => journal.warnings.slice(), []);
  const mark = useMark(detail);
  const isRead = !useRunView(isReading);
  return (
    <div className="banners">
      {status === "interrupted" && (
        <Banner tone="wait" glyph="◌" title="Interrupted">
          The process that drove this run has ended. No finished call is lost: <code>Resume</code> continues where it stopped.
          {detail.project && <span className="pre">It belongs to {words.visible(detail.project)}: resume it there.</span>}
          {detail.waiting_for && <span className="pre">A server did not resume it: {words.visible(detail.waiting_for.reason)}</span>}
        </Banner>
      )}
      {status === "running" && detail.position != null && (
        <Banner tone="wait" glyph="◌" title="In the queue">
          It is number {detail.position} in the queue: this workflow has a limit for runs at the same time.
        </Banner>
      )}
      {status === "paused" && (
        <Banner tone="wait" glyph="‖" title="Paused">
          {run.pausedFor === "budget" ? "The next call does not fit into the budget. Give it more, or cancel it." : "Nothing new starts until someone resumes it."}
          {run.pausedFor === "budget" && (detail.can.includes("continue") || detail.can.includes("resume")) && (
            <BannerActions>
              <button type="button" className="button" onClick={() => openDialog({ kind: "continue", run: id, ...(detail.can.includes("continue") ? {} : { loop: "" }) })}>
                More budget…
              </button>
            </BannerActions>
          )}
        </Banner>
      )}
      {detail.changed_file && <Changed file={detail.changed_file} />}
      {status === "waiting" && detail.due != null && <Due at={detail.due} isAsking={gates.length > 0} />}
      {gates.length > 0 && status !== "interrupted" && <Waiting id={id} gates={gates} />}
      {run.status === "failed" && run.error && loop?.exitReason !== "failed" && (
        <Banner tone="bad" glyph="✗" title={`Failed ${run.error.code}`}>
          <span className="pre">{words.visible(run.error.message)}</span>
        </Banner>
      )}
      {mark && status === "succeeded" && mark !== loop?.mark && <Marked mark={mark} />}
      {loop && isRead && <Siblings loop={loop} />}
      {loop?.status === "finished" && isRead && <Exit id={id} loop={loop} can={detail.can} fault={run.status === "failed" ? run.error : null} />}
      {warnings.length > 0 && (
        <details className="banner tone-wait warnings">
          <summary>
            <span aria-hidden="true">!</span> {warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`}: <span className="faint">{words.visible(warnings.at(-1)?.message ?? "")}</span>
          </summary>
          <ul>
            {warnings.map((warning) => (
              <li key={warning.seq}>
                {warning.code && <code>{warning.code}</code>} {words.visible(warning.message)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** A run keeps its file: what is corrected there does nothing for it. */
function Changed({ file }: { file: string }) {
  return (
    <Banner tone="idle" glyph="≠" title={file}>
      has changed since this run began; the run keeps the file that it began with. To use the new one, start a new run.
    </Banner>
  );
}

/** A run that waits for a time goes on by itself. */
function Due({ at, isAsking }: { at: number; isAsking: boolean }) {
  const now = useNow();
  return (
    <Banner tone="wait" glyph="◷" title="Waits">
      {isAsking ? "Without an answer it" : "It"} continues by itself at {new Date(at * 1_000).toLocaleString()}
      {at > now && `, in ${words.duration(at - now)}`}.
    </Banner>
  );
}

/** Where the same loop runs for each item of a list: how all of them ended, and the way to those that missed their goal. */
function Siblings({ loop }: { loop: LoopState }) {
  const store = useRunStore();
  const all = useJournal((journal) => siblingsOf(journal, loop.path), [loop.path]);
  if (all.length < 2) return null;
  const missed = all.filter((one) => one.status === "finished" && one.exitReason !== "condition_met" && one.exitReason !== "accepted");
  const look = (one: LoopState) => chooseIteration(store, one.address, one.returned ?? Math.max(1, one.number));
  return (
    <Banner tone={missed.length > 0 ? "wait" : "idle"} glyph="≡" title={`${nameOf(loop.address)}: ${all.length} loops`}>
      {words.visible(endCounts(all))}
      {missed.length > 0 && (
        <BannerActions>
          {missed.slice(0, LOOPS_MAX).map((one) => (
            <button key={one.address} type="button" className="button" title={words.endWords(one.exitReason ?? "", one.stoppedBy)} onClick={() => look(one)}>
              {words.visible(one.address)}
            </button>
          ))}
          {missed.length > LOOPS_MAX && <span>and {missed.length - LOOPS_MAX} more</span>}
        </BannerActions>
      )}
    </Banner>
  );
}

function Waiting({ id, gates }: { id: string; gates: ReturnType<typeof openGates> }) {
  const first = gates[0];
  const { may } = useMay("approve");
  if (!first) return null;
  return (
    <Banner tone="wait" glyph="‖" title={gates.length === 1 ? "Waits for a person" : `${gates.length} approvals wait for a person`}>
      {words.visible(first.message)}
      <BannerActions>
        <Link to={runPath(id, "/approvals")} query={{ at: first.address }} className="button button-main">
          {may ? "Look and decide" : "Look at it"}
        </Link>
      </BannerActions>
    </Banner>
  );
}

/** Where the loop that is looked at is not the one that a limit or the budget ended. */
function Marked({ mark }: { mark: Mark }) {
  const loops = useJournal((journal) => [...journal.loops.values()].filter((loop) => loop.mark === mark).map((loop) => loop.address), [mark]);
  return (
    <Banner tone="wait" glyph="!" title={mark}>
      {words.MARK_WORDS[mark]}
      {loops.length > 0 && `: ${words.visible(loops.slice(0, LOOPS_MAX).join(", "))}${loops.length > LOOPS_MAX ? ` and ${loops.length - LOOPS_MAX} more` : ""}`}
    </Banner>
  );
}

/** Why the loop stopped, what it gave, and what a person may want instead. */
function Exit({ id, loop, can, fault }: { id: string; loop: LoopState; can: RunDetail["can"]; fault: Fault | null }) {
  const chosen = useRunView((view) => view.chosen);
  const other = otherToReturn(loop, chosen);
  const budget = useRunState().limits.cost_usd;
  // The server says what it would do without more money: nothing.
  const isShort = loop.exitReason === "budget" && can.includes("accept");
  const from = loop.returned ?? loop.best ?? loop.number;
  const isGood = loop.exitReason === "condition_met" || loop.exitReason === "accepted";
  const tone = loop.mark ? "wait" : isGood ? "good" : loop.exitReason === "failed" ? "bad" : "wait";
  const glyph = loop.mark ? "!" : isGood ? "✓" : "■";
  const isOne = useJournal((journal) => siblingsOf(journal, loop.path).length < 2, [loop.path]);
  const which = `${isOne ? nameOf(loop.address) : loop.address} stopped`;
  return (
    <Banner tone={tone} glyph={glyph} title={[loop.mark ?? "", which].filter(Boolean).join(" · ")} isExit>
      <span className="pre" title={words.endCode(loop.exitReason ?? "", loop.stoppedBy)}>
        {fault && loop.exitReason === "failed"
          ? words.visible(`${fault.code} ${fault.message}`)
          : words.visible(`${stopWords(loop)} · ${returnedWords(loop)}`)}
      </span>
      <BannerActions>
        {other !== null && can.includes("accept") && (
          <button type="button" className="button" onClick={() => openDialog({ kind: "accept", run: id, loop: loop.address, iteration: other })}>
            Accept #{other} instead
          </button>
        )}
        {isShort ? (
          <button type="button" className="button" onClick={() => openDialog({ kind: "continue", run: id, loop: loop.address, money: loop.limits.cost_usd ?? budget })}>
            Continue with more…
          </button>
        ) : (
          can.includes("continue") && (
            <button type="button" className="button" onClick={() => openDialog({ kind: "continue", run: id, loop: loop.address, iterations: 3 })}>
              Continue +3
            </button>
          )
        )}
        {can.includes("fork") && from > 0 && (
          <button type="button" className="button" onClick={() => openDialog({ kind: "fork", run: id, loop: loop.address, iteration: from })}>
            Fork from #{from}
          </button>
        )}
      </BannerActions>
    </Banner>
  );
}

/** Why it stopped, with the very condition that was met. */
function stopWords(loop: LoopState): string {
  if (loop.isStopped) return "a person stopped it";
  const why = words.reasonWords(loop.exitReason ?? "", loop.stoppedBy);
  const last = loop.exitReason === "condition_met" ? iterationOf(loop, loop.number) : undefined;
  const fact = last?.facts.find((one) => one.met && one.by === loop.stoppedBy);
  const told = fact?.reason ?? (fact ? words.factWords(fact) : "");
  return told && told !== fact?.by ? `${why}: ${told}` : why;
}

/** "returned #2, the best (0.63), not the last". */
export function returnedWords(loop: LoopState): string {
  if (loop.returned === null) return loop.number === 0 ? "no iteration began" : "returned no single iteration";
  const score = iterationOf(loop, loop.returned)?.score ?? null;
  const told = score === null ? "" : ` (${words.score(score, loop.target)})`;
  const best = loop.best === loop.returned ? `, the best${told}` : told;
  const last = loop.returned === loop.number ? "" : ", not the last";
  const edited = loop.isEdited ? ", with edits of a person" : "";
  return `returned #${loop.returned}${best}${last}${edited}${exploredWords(loop)}`;
}

function exploredWords({ number, explored }: LoopState): string {
  if (explored === null || explored <= number) return "";
  const which = explored === number + 1 ? `#${explored} was` : `#${number + 1} to #${explored} were`;
  return `; ${which} explored after its end`;
}

interface BannerProps {
  tone: string;
  glyph: string;
  title: string;
  isExit?: boolean;
  children: ReactNode;
}

function Banner({ tone, glyph, title, isExit = false, children }: BannerProps) {
  return (
    <div className={`banner tone-${tone}${isExit ? " exit-banner" : ""}`} role="status">
      <strong>
        <span aria-hidden="true">{glyph}</span> {words.visible(title)}
      </strong>
      <span className="banner-text">{children}</span>
    </div>
  );
}

function BannerActions({ children }: { children: ReactNode }) {
  return <span className="banner-actions">{children}</span>;
}
