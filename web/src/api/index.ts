/** The HTTP interface: calls, streams, types. */
export { ApiError, createClient, type Client } from "./client";
export type * from "./contract";
export { isValueRef } from "./contract";
export { type Connection } from "./sse";
export { followChanges, followRun } from "./streams";
