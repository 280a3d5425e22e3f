/** The requests of the editor that its forms make themselves; what a server does not have is absent. */
import { ApiError, type Client } from "../../api";
import type { Json } from "../contract";

/** A name that can be read at a step. */
export interface Name {
  name: string;
  type: string;
  value?: Json;
}

async function call<T>(client: Client, method: string, path: string, body?: object): Promise<T> {
  const headers = { Accept: "application/json", ...(body ? { "Content-Type": "application/json" } : {}) };
  const answer = await client.open(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return (await answer.json()) as T;
}

export const ask = <T>(client: Client, path: string): Promise<T> => call<T>(client, "GET", path);

export const send = <T>(client: Client, method: "POST" | "PUT", path: string, body: object): Promise<T> => call<T>(client, method, path, body);

/** Whether a server says that it does not know such requests at all. */
export const isAbsent = (error: unknown): boolean => error instanceof ApiError && (error.status === 404 || error.status === 405);
