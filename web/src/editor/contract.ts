/** What the parts of the editor know of each other: the open file, its picture, and how it is changed. */

import type { components } from "../api/schema";

type Schemas = components["schemas"];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Diagnostic = Schemas["Diagnostic"];
export type Edited = Schemas["Edited"];

/** From which to which line of the text something stands. */
export type Lines = { [key: string]: number };

/** One node as a sketch has it; `fields` are as the file writes them, `parent` is "" at the top. */
export type SketchNode = {
  path: string;
  kind: string;
  title: string;
  parent: string;
  case: string | null;
  body: "none" | "inline" | "members" | "file";
  file: string;
  position: { x: number; y: number } | null;
  size: { width: number; height: number } | null;
  ports: { inputs: string[]; outputs: string[] };
  cases: string[];
  fields: Json;
  span: Lines | null;
};

export type SketchEdge = {
  from: string;
  from_port: string;
  to: string;
  to_port: string;
  kind: "order" | "data" | "feedback" | "branch";
  label: string;
  span: Lines | null;
};

/** `fields` are those of the file itself, without its steps and edges. */
export type Sketch = { nodes: SketchNode[]; edges: SketchEdge[]; fields?: Json };

/** A field of the form of a kind. */
export type FormField = {
  field: string[];
  label: string;
  type: string;
  help: string;
  choices: string[];
  required: boolean;
};

/** A kind of step; `fields` are those of a new one. */
export type PaletteKind = {
  kind: string;
  title: string;
  icon: string;
  colour: string;
  needs: string;
  fields: Json;
  form: FormField[];
};

export type Palette = { groups: { title: string; kinds: PaletteKind[] }[] };

/** One operation, as the guide to editing lists them. */
export type Operation = { operation: string } & { [key: string]: Json };

/** The open file, for everything that shows or changes it. */
export type Editor = {
  file: string;
  dialect: string;
  text: string;
  /** Absent while the text cannot be read: then nothing but the source can be changed. */
  sketch: Sketch | null;
  diagnostics: Diagnostic[];
  palette: Palette;
  isReadOnly: boolean;
  selected: string[];
  /** Carries operations out, as one step of undo; the editor itself shows what is refused. */
  apply: (operations: Operation[]) => Promise<Edited | null>;
  select: (paths: string[]) => void;
  /** Opens the inside of a container. */
  drill: (path: string) => void;
  /** The new files that are saved together with this one, and are not yet. */
  others: string[];
  /** Goes to the file that a step names. */
  openFile: (node: SketchNode) => Promise<void>;
  /** Shows a line of the source. */
  showLine: (line: number) => void;
};
