/** The streams of the server: the events of one run, the changes of all runs, and of an experiment. */
import type { JournalEvent } from "../journal/types";
import type { Client } from "./client";
import type { ExperimentDetail, RunItem } from "./contract";
import { follow, type Connection, type Message } from "./sse";

export interface RunListener {
  onEvent: (event: JournalEvent) => void;
  /** Streamed text of a task: what is new, or all of it so far. */
  onText: (address: string, text: string, isWhole: boolean) => void;
  /** Its status as the server knows it, which also tells of runs that nobody drives any more. */
  onStatus?: (status: string, lastSeq: number) => void;
  /** The run has come to rest; the stream stays open, because a person may let it go on. */
  onEnd?: (status: string) => void;
  onState?: (state: Connection) => void;
}

const EVENT_STREAM = { Accept: "text/event-stream" };

/** Follows the journal of a run from `after` on: first what is there, then live. */
export function followRun(client: Client, id: string, listener: RunListener, after = 0) {
  const path = `/api/runs/${encodeURIComponent(id)}/events?after=${after}`;
  return follow({
    open: (lastId, signal) => client.open(path, { headers: streamHeaders(lastId), signal }),
    onMessage: (message) => dispatch(message, listener),
    ...(listener.onState ? { onState: listener.onState } : {}),
  });
}

/** Follows the changes of all runs. */
export function followChanges(
  client: Client,
  onRun: (run: RunItem) => void,
  onState?: (state: Connection) => void,
) {
  return follow({
    open: (lastId, signal) => client.open("/api/changes", { headers: streamHeaders(lastId), signal }),
    onMessage: (message) => {
      const run = message.event === "run" ? (parsed(message.data) as RunItem | null) : null;
      if (run) onRun(run);
    },
    ...(onState ? { onState } : {}),
  });
}

/** Follows how far an experiment is. */
export function followExperiment(client: Client, name: string, onChange: (detail: ExperimentDetail) => void) {
  return follow({
    open: (lastId, signal) => client.open(`/api/experiments/${encodeURIComponent(name)}/events`, { headers: streamHeaders(lastId), signal }),
    onMessage: (message) => {
      const detail = message.event === "experiment" ? (parsed(message.data) as ExperimentDetail | null) : null;
      if (detail) onChange(detail);
    },
  });
}

function streamHeaders(lastId: string | null): Record<string, string> {
  return lastId === null ? EVENT_STREAM : { ...EVENT_STREAM, "Last-Event-ID": lastId };
}

function dispatch(message: Message, listener: RunListener): void {
  const data = parsed(message.data) as Record<string, unknown> | string | null;
  if (message.event === "delta" && data && typeof data === "object") {
    listener.onText(String(data["address"] ?? ""), String(data["text"] ?? ""), data["whole"] === true);
  } else if (message.event === "status" && data && typeof data === "object") {
    listener.onStatus?.(String(data["status"] ?? ""), Number(data["last_seq"] ?? 0));
  } else if (message.event === "end") {
    const status = data && typeof data === "object" ? data["status"] : data;
    listener.onEnd?.(String(status ?? ""));
  } else if (data && typeof data === "object" && "seq" in data) {
    listener.onEvent(data as unknown as JournalEvent);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
