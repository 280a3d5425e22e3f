import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError, createClient, followRun, type Connection } from "../src/api";
import { follow, MessageReader, retryNow } from "../src/api/sse";
import type { JournalEvent } from "../src/journal";

const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A real server on a free port, and a client for it. */
async function serve(answer: Answer) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => (server.closeAllConnections(), server.close()));
  const refused: number[] = [];
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { refused, client: createClient({ base, onUnauthorized: () => refused.push(401) }) };
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

describe("MessageReader", () => {
  const stream = ": hello\n\nid: 7\nevent: note\ndata: one\ndata: two\n\ndata:bare\r\n\r\nevent: end\ndata:\n\n";
  const wanted = [
    { event: "note", data: "one\ntwo", id: "7" },
    { event: "message", data: "bare", id: null },
    { event: "end", data: "", id: null },
  ];

  it("reads messages whatever the pieces are", () => {
    for (let size = 1; size <= stream.length; size += 1) {
      const reader = new MessageReader();
      const found = [];
      for (let from = 0; from < stream.length; from += size) found.push(...reader.read(stream.slice(from, from + size)));
      expect(found).toEqual(wanted);
    }
  });
});

describe("the client", () => {
  it("says that the page asks, knows no token, and leaves out what is empty", async () => {
    const seen: unknown[] = [];
    const { client } = await serve((request, response) => {
      seen.push([request.url, request.headers["x-whorl-page"], request.headers.authorization]);
      json(response, 200, { runs: [], next: null, workflows: [] });
    });
    await client.runs({ status: "failed", search: "" });

    expect(seen).toEqual([["/api/runs?status=failed", "1", undefined]]);
  });

  it("posts one content type and escapes ids", async () => {
    const seen: unknown[] = [];
    const { client } = await serve((request, response) => {
      request.on("data", (chunk: Buffer) => seen.push(request.method, request.url, request.headers["content-type"], JSON.parse(String(chunk))));
      request.on("end", () => json(response, 202, {}));
    });
    await client.accept("a/b", { iteration: 2 });

    expect(seen).toEqual(["POST", "/api/runs/a%2Fb/accept", "application/json", { iteration: 2 }]);
  });

  it("turns every failure into one error with the server's words", async () => {
    const { client, refused } = await serve((request, response) => {
      if (request.url === "/api/project") json(response, 401, { error: { code: "H401", message: "no token", help: "look" } });
      else response.writeHead(500).end("oh");
    });
    const failure = (call: Promise<unknown>) => call.catch((fault: unknown) => fault);

    expect(await failure(client.project())).toMatchObject({ status: 401, code: "H401", message: "no token", help: "look" });
    expect(refused).toEqual([401]);
    expect(await failure(client.workflows())).toMatchObject({ status: 500, message: "the server answered 500" });
    const nowhere = createClient({ base: "http://127.0.0.1:1" });
    expect(await failure(nowhere.project())).toBeInstanceOf(ApiError);
    expect(await failure(nowhere.project())).toMatchObject({ status: 0, code: "unreachable" });
  });
});

describe("what is asked for again", () => {
  it("has no body where nothing is new, and is then the same value", async () => {
    const asked: (string | undefined)[] = [];
    let [etag, list] = ['"one"', [{ name: "a" }]];
    const { client } = await serve((request, response) => {
      const known = request.headers["if-none-match"];
      asked.push(known);
      if (known === etag) response.writeHead(304, { etag }).end();
      else response.writeHead(200, { "content-type": "application/json", etag }).end(JSON.stringify(list));
    });
    const first = await client.experiments();
    expect(await client.experiments()).toBe(first);
    [etag, list] = ['"two"', [{ name: "b" }]];
    expect(await client.experiments()).toEqual([{ name: "b" }]);
    expect(asked).toEqual([undefined, '"one"', '"one"']);
  });
});

describe("the stream of a run", () => {
  const event = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify({ seq, kind: "warning", address: "", at: 1, body: {} })}\n\n`;

  it("goes on after a lost connection from the last event, without missing any", async () => {
    const asked: (string | undefined)[] = [];
    const { client } = await serve((request, response) => {
      asked.push(request.headers["last-event-id"] as string | undefined);
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (asked.length === 1) {
        response.write(event(1) + event(2));
        setTimeout(() => response.destroy(), 20);
      } else response.write(`${event(3)}event: delta\ndata: {"address":"a","text":"hi"}\n\nevent: end\ndata: {"status":"succeeded"}\n\n`);
    });
    const [events, texts, states]: [JournalEvent[], string[], Connection[]] = [[], [], []];
    const status = await new Promise<string>((resolve) => {
      const listener = { onEvent: (one: JournalEvent) => events.push(one), onText: (_: string, text: string) => texts.push(text), onEnd: resolve, onState: (state: Connection) => states.push(state) };
      cleanups.push(followRun(client, "r", listener).close);
    });

    expect(events.map((one) => one.seq)).toEqual([1, 2, 3]);
    expect(asked).toEqual([undefined, "2"]);
    expect(texts).toEqual(["hi"]);
    expect(status).toBe("succeeded");
    expect(states).toContain("lost");
    expect(states.at(-1)).toBe("live");
  });

  it("is tried again at once where somebody does not want to wait", async () => {
    const states: Connection[] = [];
    let tries = 0;
    await new Promise<void>((resolve) => {
      const open = () => ((tries += 1), tries === 1 ? Promise.reject(new TypeError("no connection")) : Promise.resolve(new Response(event(1))));
      const onState = (state: Connection) => {
        states.push(state);
        // The next try would be in weeks.
        if (state === "lost") setTimeout(retryNow);
      };
      cleanups.push(follow({ open, onState, onMessage: () => resolve(), delayMs: () => 2_000_000_000 }).close);
    });

    expect(states.filter((state, index) => state !== states[index - 1])).toEqual(["connecting", "lost", "live"]);
    expect(tries).toBe(2);
  });

  it("does not try again where it is refused", async () => {
    let calls = 0;
    const { client } = await serve((_, response) => ((calls += 1), json(response, 404, { error: { code: "R1", message: "no such run" } })));
    const state = await new Promise<Connection>((resolve) => {
      cleanups.push(followRun(client, "r", { onEvent: () => undefined, onText: () => undefined, onState: (one) => one !== "connecting" && resolve(one) }).close);
    });

    expect(state).toBe("refused");
    expect(calls).toBe(1);
  });
});
