/** The calls of the editor: texts go out and come back changed; only `save` and `make` write. */
import type { Client } from "../../api";
import type { components } from "../../api/schema";
import type { Operation, Palette } from "../contract";

type Schemas = components["schemas"];

export type Sketched = Schemas["Sketched"];
export type Edited = Schemas["Edited"];
export type Saved = Schemas["Saved"];

/** New files beside the open one, by name, that are saved together with it. */
export type Others = { [name: string]: string };

export interface EditRequest {
  name: string;
  text: string;
  operations: Operation[];
  others?: Others;
  readers?: "rewire" | "leave";
  validate?: boolean;
}

export type Calls = ReturnType<typeof callsOf>;

export function callsOf(client: Client) {
  async function send<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    const response = await client.open(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    return (await response.json()) as T;
  }
  const named = (path: string, file: string) => `/api/workflows/${path}?file=${encodeURIComponent(file)}`;
  return {
    project: () => client.project(),
    /** The picture alone; what is wrong with the file takes longer, and is asked for after it. */
    load: (file: string) => send<Sketched>("GET", `${named("sketch", file)}&validate=false`),
    /** What is wrong with the file as it is saved: not every server takes a draft. */
    check: (file: string) => send<Sketched>("GET", named("sketch", file)),
    sketch: (name: string, text: string, others: Others = {}) => send<Sketched>("POST", "/api/workflows/sketch", { name, text, others }),
    edit: (request: EditRequest) => send<Edited>("POST", "/api/workflows/edit", request),
    etag: async (file: string) => (await client.again<Schemas["Etag"]>(named("etag", file))).etag,
    save: (file: string, text: string, etag: string | null, others: Others = {}) => send<Saved>("PUT", "/api/workflows/source", { file, text, etag, others }),
    make: (request: { file: string; convert: string }) => send<Saved>("POST", "/api/workflows", request),
    palette: (dialect: string) => send<Palette>("GET", `/api/palette?dialect=${encodeURIComponent(dialect)}`),
  };
}
