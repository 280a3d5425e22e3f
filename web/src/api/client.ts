/** The calls of the HTTP interface: one function each, in the session of the page, errors as one type. */
import type * as api from "./contract";

/** What the server (or the way to it) says when a call does not succeed; status 0: not reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly help = "",
    /** The whole answer, where it is JSON. */
    readonly answer: unknown = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface ClientOptions {
  /** Told once for each call that is refused for want of a session. */
  onUnauthorized?: () => void;
  fetch?: typeof fetch;
  base?: string;
}

type Query = Record<string, string | number | null | undefined>;

const PAGE_HEADER = "X-Whorl-Page";
/** How many answers are kept to be asked for again. */
const KEPT_MAX = 8;

/** Exchanges a token for the cookie of a session; gives whether the server takes it. */
export async function openSession(token: string): Promise<boolean> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch("/api/session", { method: "POST", headers, body: "{}", credentials: "same-origin" }).catch(() => null);
  return answer?.ok ?? false;
}

export type Client = ReturnType<typeof createClient>;

export function createClient(options: ClientOptions) {
  const base = options.base ?? "";
  const send = options.fetch ?? ((...call: Parameters<typeof fetch>) => globalThis.fetch(...call));

  async function open(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    // The cookie of the session counts only with it.
    headers.set(PAGE_HEADER, "1");
    let response: Response;
    try {
      response = await send(base + path, { ...init, headers, cache: "no-store", credentials: "same-origin" });
    } catch (fault) {
      if (fault instanceof DOMException && fault.name === "AbortError") throw fault;
      throw new ApiError(0, "unreachable", "the server cannot be reached", "is `whorl serve` running?");
    }
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) options.onUnauthorized?.();
    throw await errorFrom(response);
  }

  async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    const response = await open(withQuery(path, query), {
      headers: { Accept: "application/json" },
      ...(signal ? { signal } : {}),
    });
    return (await response.json()) as T;
  }

  const kept = new Map<string, { etag: string; value: unknown }>();

  /** What is asked for again and again: where nothing is new, no body comes, and the value is the same as before. */
  async function again<T>(path: string, signal?: AbortSignal): Promise<T> {
    const before = kept.get(path);
    const headers = { Accept: "application/json", ...(before ? { "If-None-Match": before.etag } : {}) };
    const response = await open(path, { headers, ...(signal ? { signal } : {}) });
    if (before && response.status === 304) return before.value as T;
    const value = (await response.json()) as T;
    const etag = response.headers.get("ETag");
    kept.delete(path);
    if (etag) kept.set(path, { etag, value });
    for (const oldest of [...kept.keys()].slice(0, -KEPT_MAX)) kept.delete(oldest);
    return value;
  }

  async function post<T>(path: string, body: object = {}): Promise<T> {
    const response = await open(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as T;
  }

  const run = (id: string, rest = "") => `/api/runs/${encodeURIComponent(id)}${rest}`;

  const experiment = (name: string, rest = "") => `/api/experiments/${encodeURIComponent(name)}${rest}`;

  return {
    /** A response that is read as it comes: what the event streams are made of. */
    open,
    again,
    project: (signal?: AbortSignal) => get<api.Project>("/api/project", {}, signal),
    runs: (
      query: Query = {},
      signal?: AbortSignal,
    ) => get<api.RunList>("/api/runs", query, signal),
    costs: (query: { by: string; since: number }, signal?: AbortSignal) => get<api.CostList>("/api/costs", query, signal),
    run: (id: string, signal?: AbortSignal) => again<api.RunDetail>(run(id), signal),
    events: (id: string, after = 0, limit = 1000, signal?: AbortSignal) =>
      get<api.EventPage>(run(id, "/events"), { after, limit }, signal),
    graph: (id: string, signal?: AbortSignal) => get<api.Graph>(run(id, "/graph"), {}, signal),
    source: (id: string, signal?: AbortSignal) => get<api.Source>(run(id, "/source"), {}, signal),
    loops: (id: string, signal?: AbortSignal) => get<api.LoopList>(run(id, "/loops"), {}, signal),
    iterations: (id: string, loop: string, after = 0, limit = 500, signal?: AbortSignal) =>
      get<api.IterationList>(run(id, "/iterations"), { at: loop, after, limit }, signal),
    iteration: (id: string, loop: string, number: number, signal?: AbortSignal) =>
      get<api.IterationDetail>(run(id, `/iterations/${number}`), { at: loop }, signal),
    diff: (id: string, loop: string, { one, other, against }: { one: number; other: number; against?: string | undefined }, signal?: AbortSignal) =>
      get<api.Comparison>(run(id, "/diff"), { at: loop, one, other, with: against }, signal),
    matrix: (id: string, loop: string, signal?: AbortSignal) =>
      get<api.Matrix>(run(id, "/matrix"), { at: loop }, signal),
    step: (id: string, at: string, signal?: AbortSignal) =>
      get<api.StepDetail>(run(id, "/step"), { at }, signal),
    records: (id: string, query: { at?: string; depth?: number; repetitions?: string; limit?: number }, signal?: AbortSignal) =>
      get<api.RecordList>(run(id, "/records"), query, signal),
    value: (id: string, ref: string, signal?: AbortSignal) =>
      get<api.LargeValue>(run(id, `/values/${encodeURIComponent(ref)}`), {}, signal),
    start: (request: api.NewRun) => post<api.Started>("/api/runs", request),
    pause: (id: string, known: api.Known = {}) => post<api.RunItem>(run(id, "/pause"), known),
    resume: (id: string, more: api.Resume = {}) => post<api.RunItem>(run(id, "/resume"), more),
    cancel: (id: string, why: api.Cancel = {}) => post<api.RunItem>(run(id, "/cancel"), why),
    continue: (id: string, more: api.Continue) => post<api.RunItem>(run(id, "/continue"), more),
    accept: (id: string, choice: api.Accept) => post<api.RunItem>(run(id, "/accept"), choice),
    fork: (id: string, fork: api.Fork) => post<api.Forked>(run(id, "/fork"), fork),
    stop: (id: string, which: api.Stop = {}) => post<api.RunItem>(run(id, "/stop"), which),
    approve: (id: string, answer: api.Approval) => post<api.RunItem>(run(id, "/approve"), answer),
    reject: (id: string, answer: api.Decision) => post<api.RunItem>(run(id, "/reject"), answer),
    validate: (request: api.Validation) => post<api.Validated>("/api/validate", request),
    experiments: (signal?: AbortSignal) => again<api.ExperimentItem[]>("/api/experiments", signal),
    experiment: (name: string, signal?: AbortSignal) => get<api.ExperimentDetail>(experiment(name), {}, signal),
    runExperiment: (file: string) => post<api.ExperimentDetail>("/api/experiments", { file }),
    stopExperiment: (name: string) => post<api.ExperimentDetail>(experiment(name, "/stop")),
    cases: (name: string, signal?: AbortSignal) => get<api.CaseList>(experiment(name, "/cases"), {}, signal),
    gradings: (name: string, signal?: AbortSignal) => get<api.GradingList>(experiment(name, "/queue"), {}, signal),
    /** The documents that the commands print with --json. */
    report: async <T>(name: string, signal?: AbortSignal) => (await get<{ document: T }>(experiment(name, "/report"), {}, signal)).document,
    judge: async <T>(name: string, query: { against: string; of: string }, signal?: AbortSignal) => (await get<{ document: T }>(experiment(name, "/judge"), query, signal)).document,
    whatIf: async <T>(name: string, asked: api.AskedRule = {}) => (await post<{ document: T }>(experiment(name, "/what-if"), asked)).document,
    /** What the conditions of a loop saw, so that rules are answered here. */
    facts: async <T>(name: string, loop: string, signal?: AbortSignal) => (await get<{ document: T }>(experiment(name, "/facts"), { at: loop }, signal)).document,
    runFacts: async <T>(id: string, loop: string, signal?: AbortSignal) => (await get<{ document: T }>(`/api/runs/${encodeURIComponent(id)}/facts`, { at: loop }, signal)).document,
    workflows: (signal?: AbortSignal) => get<api.WorkflowList>("/api/workflows", {}, signal),
    workflowGraph: (file: string, named: string, signal?: AbortSignal) =>
      get<api.Graph>("/api/workflows/graph", { file, named }, signal),
    workflowSource: (file: string, named: string, signal?: AbortSignal) =>
      get<api.Source>("/api/workflows/source", { file, named }, signal),
  };
}

function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

async function errorFrom(response: Response): Promise<ApiError> {
  const usual = `the server answered ${response.status}`;
  try {
    const answer = (await response.json()) as { error: api.Fault };
    const { error } = answer;
    return new ApiError(response.status, error.code, error.message || usual, error.help ?? "", answer);
  } catch {
    return new ApiError(response.status, "", usual);
  }
}
