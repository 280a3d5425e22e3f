/** The HTTP interface: calls, streams, types. */
export { ApiError, createClient, openSession, type Client } from "./client";
export type * from "./contract";
export { isValueRef } from "./contract";
export { retryNow, type Connection } from "./sse";
export { followChanges, followExperiment, followRun } from "./streams";
