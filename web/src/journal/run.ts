/** What happens to a run as a whole: its status, its limits, its warnings. */
import { cancelOpen, changeRun, faultFrom, textFrom, type Change } from "./places";
import type { Limits, RunStatus } from "./types";
import { isObject, NOTHING, usageFrom } from "./usage";

const WARNINGS_MAX = 1_000;

/** A person lets the run go on, perhaps with more money. */
const goOn: Change = (journal, { kind, at, body }) => {
  const limits: Limits = { ...journal.run.limits };
  for (const name of ["cost_usd", "tokens"] as const) {
    const [more, limit] = [body[name], limits[name]];
    if (typeof more === "number" && limit !== undefined) limits[name] = limit + more;
  }
  // What has not ended was paused, and counts no time meanwhile.
  if (kind === "run.continued" || (kind === "run.resumed" && journal.run.endedAt !== null)) changeRun(journal, { wentOnAt: at });
  changeRun(journal, { status: "running", error: null, endedAt: null, pausedFor: "", limits });
};

export const runChanges: Record<string, Change> = {
  "run.started": (journal, { at, body }) =>
    changeRun(journal, {
      id: textFrom(body["run"]),
      status: "running",
      startedAt: journal.run.startedAt ?? at,
      input: body["input"] ?? null,
      limits: isObject(body["limits"]) ? (body["limits"] as Limits) : {},
    }),
  "run.resumed": goOn,
  "run.continued": goOn,
  "run.accepted": goOn,
  "run.forked": (journal, event) => {
    goOn(journal, event);
    // What it took over from the other run happened before it began, and was paid for there.
    changeRun(journal, {
      forkedFrom: textFrom(event.body["source"]),
      startedAt: event.at,
      usage: NOTHING,
    });
  },
  "run.paused": (journal) => changeRun(journal, { status: "paused", pausedFor: "person" }),
  "run.waiting": (journal, { body }) =>
    changeRun(journal, {
      status: (textFrom(body["status"]) || "waiting") as RunStatus,
      pausedFor: textFrom(body["for"]),
    }),
  "run.finished": (journal, { at, body }) => {
    cancelOpen(journal, "", at);
    changeRun(journal, {
      status: (textFrom(body["status"]) || "failed") as RunStatus,
      endedAt: at,
      output: body["output"] ?? null,
      outputs: body["outputs"] ?? null,
      error: faultFrom(body["error"]),
      reserved: NOTHING,
      ...(body["usage"] ? { usage: { ...usageFrom(body["usage"]), doubt_usd: journal.run.usage.doubt_usd } } : {}),
    });
  },
  warning: (journal, { seq, address, body }) => {
    if (journal.warnings.length >= WARNINGS_MAX) return;
    const { code, message } = faultFrom(body) ?? { code: "", message: "" };
    journal.warnings.push({ code, message, address, seq });
  },
};
