/** Server-sent events over fetch: EventSource cannot send the token in a header. */

export interface Message {
  event: string;
  data: string;
  id: string | null;
}

/** Reads a text/event-stream bit by bit; give it chunks as they come, it gives whole messages. */
export class MessageReader {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | null = null;

  read(chunk: string): Message[] {
    const found: Message[] = [];
    this.rest += chunk;
    // A carriage return at the very end may be half of a line end.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.take(line);
      else if (this.data.length > 0 || this.event) found.push(this.dispatch());
    }
    return found;
  }

  private take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }

  private dispatch(): Message {
    const message = { event: this.event || "message", data: this.data.join("\n"), id: this.id };
    this.event = "";
    this.data = [];
    this.id = null;
    return message;
  }
}

export type Connection = "connecting" | "live" | "lost" | "refused" | "closed";

export interface StreamOptions {
  /** Opens the stream; is told the id of the last message, so that nothing is missed. */
  open: (lastId: string | null, signal: AbortSignal) => Promise<Response>;
  onMessage: (message: Message) => void;
  onState?: (state: Connection) => void;
  lastId?: string | null;
  /** No byte for this long means that the connection is dead: heartbeats come each 15 s. */
  silenceMs?: number;
  /** How long to wait before try number n, counted from 1. */
  delayMs?: (tries: number) => number;
}

const DELAY_MS_MAX = 15_000;

/** Follows a stream until it is closed: reconnects where it was lost, from the last message on. */
export function follow(options: StreamOptions): { close: () => void } {
  const closed = new AbortController();
  const delay = options.delayMs ?? ((tries: number) => Math.min(DELAY_MS_MAX, 500 * 2 ** (tries - 1)));
  let lastId = options.lastId ?? null;
  let tries = 0;

  const once = async (): Promise<void> => {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    closed.signal.addEventListener("abort", stop, { once: true });
    let watch: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(stop, options.silenceMs ?? 45_000);
    };
    try {
      heard();
      const response = await options.open(lastId, attempt.signal);
      options.onState?.("live");
      tries = 0;
      for await (const messages of messagesOf(response, attempt.signal)) {
        heard();
        for (const message of messages) {
          if (message.id !== null) lastId = message.id;
          options.onMessage(message);
        }
      }
    } finally {
      clearTimeout(watch);
      closed.signal.removeEventListener("abort", stop);
    }
  };

  const run = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      options.onState?.(tries === 0 ? "connecting" : "lost");
      try {
        await once();
      } catch (fault) {
        if (isRefusal(fault)) {
          options.onState?.("refused");
          return;
        }
      }
      if (closed.signal.aborted) break;
      tries += 1;
      options.onState?.("lost");
      await pause(delay(tries), closed.signal);
    }
    options.onState?.("closed");
  };

  void run();
  return { close: () => closed.abort() };
}

/** 401, 403 and 404 will not get better by trying again. */
function isRefusal(fault: unknown): boolean {
  const status = (fault as { status?: number } | null)?.status;
  return status === 401 || status === 403 || status === 404;
}

async function* messagesOf(response: Response, signal: AbortSignal): AsyncGenerator<Message[]> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const messages = new MessageReader();
  const stop = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield messages.read(decoder.decode(value, { stream: true }));
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const waking = new EventTarget();

/** Has every stream that was lost try again now, instead of when its time has come. */
export function retryNow(): void {
  waking.dispatchEvent(new Event("retry"));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      waking.removeEventListener("retry", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    waking.addEventListener("retry", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
