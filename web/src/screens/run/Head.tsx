/** The head of a run: what it is, how it stands, what it has cost, and what can be done with it. */
import type { RunDetail } from "../../api";
import { useNow } from "../../app/clock";
import { LiveIndicator } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { isReading, statusOf, useJournal, useRunState, useRunView } from "../../app/run";
import { useTitle } from "../../app/title";
import { Meter, StatusBadge } from "../../charts";
import { costOf, NOTHING, openGates, tokensOf, usageFrom, words, type Limits, type LoopState } from "../../journal";
import { Actions } from "./Actions";
import { useMark } from "./useMark";

const OVER = ["succeeded", "failed", "cancelled"];
const MOVING = ["running", "waiting"];

interface HeadProps {
  id: string;
  name: string;
  detail: RunDetail;
  loop: LoopState | undefined;
}

export function Head({ id, name, detail, loop }: HeadProps) {
  const status = useRunView(statusOf);
  const connection = useRunView((view) => view.connection);
  const isRead = !useRunView(isReading);
  const mark = useMark(detail);
  const waiting = useJournal((journal) => openGates(journal).length);
  useTitle(`${name} ${status} ${id}`, waiting);
  return (
    <header className="run-head">
      <div className="run-title">
        <h1>{words.visible(name)}</h1>
        <span className="mono faint run-id">{id}</span>
        <StatusBadge status={status} mark={mark} />
        <Elapsed isMoving={MOVING.includes(status)} detail={isRead ? null : detail} />
        {detail.project && <span className="faint">belongs to {words.visible(detail.project)}</span>}
        {detail.parent && (
          <span className="faint">
            fork of <Link to={runPath(detail.parent)}>{detail.parent}</Link>
          </span>
        )}
        <LiveIndicator state={connection} isOver={OVER.includes(status)} />
      </div>
      <Spent detail={isRead ? null : detail} />
      <Actions id={id} detail={detail} loop={loop} />
    </header>
  );
}

/** `detail`: the journal is not read yet, and the server tells. */
function Elapsed({ isMoving, detail }: { isMoving: boolean; detail: RunDetail | null }) {
  const now = useNow(isMoving);
  const run = useRunState();
  const [startedAt, endedAt] = detail ? [detail.started_at, detail.ended_at] : [run.startedAt, run.endedAt];
  const lastAt = useRunView((view) => view.journal.lastAt);
  if (startedAt === null) return null;
  const until = endedAt ?? (isMoving ? Math.max(now, lastAt) : (detail?.updated_at ?? lastAt));
  return (
    <span className="figure faint" title="since it began">
      {isMoving || until - startedAt > 0.001 ? words.duration(until - startedAt) : "–"}
    </span>
  );
}

/** What the server says that was used, and may be. */
function toldBy({ result, limits, budget_usd }: RunDetail) {
  const usage = { ...usageFrom({ ...result.usage }), doubt_usd: result.usage.reserved_usd ?? 0 };
  return { usage, limits: { ...(limits as Limits), cost_usd: budget_usd ?? undefined }, reserved: NOTHING };
}

/** `detail`: as in `Elapsed`. */
function Spent({ detail }: { detail: RunDetail | null }) {
  const run = useRunState();
  const { usage, limits, reserved } = detail ? toldBy(detail) : run;
  const used = tokensOf(usage);
  return (
    <div className="run-spent">
      <Meter label="cost" value={costOf(usage)} max={limits.cost_usd ?? null} reserved={reserved.cost_usd} format={(_, other) => words.cost(usage, other)} formatMax={words.budget} />
      {limits.tokens === undefined ? (
        <span className="figure faint" title={`${usage.input_tokens} in, ${usage.output_tokens} out, ${usage.calls} calls`}>
          {words.tokens(used)} tokens
        </span>
      ) : (
        <Meter label="tokens" value={used} max={limits.tokens} reserved={tokensOf(reserved)} format={(count) => `${words.tokens(count ?? 0)} tok`} />
      )}
      {usage.in_doubt > 0 && (
        <span className="badge tone-wait" title="The call was sent, but it is not known whether it was carried out. It is counted with everything that was reserved for it.">
          <span aria-hidden="true">?</span> {usage.in_doubt} in doubt{usage.doubt_usd > 0 && `: ${words.dollars(usage.cost_usd - usage.doubt_usd)} known, ${words.dollars(usage.doubt_usd)} reserved`}
        </span>
      )}
    </div>
  );
}
