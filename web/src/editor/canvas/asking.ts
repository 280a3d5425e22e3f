/** What the canvas has to ask before it can carry a command out. */

export type CanvasAsk =
  | { kind: "add"; place: { into: string; case: string | null } | null }
  | { kind: "rename"; path: string }
  | { kind: "wrap"; paths: string[] }
  | { kind: "unwrap"; path: string }
  | { kind: "remove"; paths: string[] }
  | { kind: "feedback"; from: string; loop: string }
  | { kind: "ports"; from: End; to: End };

/** One end of an edge; the port is open where it is null. */
export interface End {
  at: string;
  port: string | null;
}
