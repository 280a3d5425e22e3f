/** What the server sends and takes: names for the types that are generated from openapi.json. */
import type { JournalEvent, Limits } from "../journal/types";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** What it costs where prices are not known: null. */
type Priced<T> = Omit<T, "cost_usd"> & { cost_usd: number | null };

export type Project = Schemas["ProjectItem"];
export type RunItem = Priced<Schemas["RunItem"]>;
export type RunList = Omit<Schemas["RunList"], "runs"> & { runs: RunItem[] };
export type CostLine = Priced<Schemas["CostLine"]>;
export type CostList = Omit<Schemas["CostList"], "lines" | "total"> & { lines: CostLine[]; total: CostLine };
export type RunDetail = Priced<Schemas["RunDetail"]>;
export type Gate = Schemas["ApprovalItem"];
export type GraphNode = Omit<Schemas["GraphNode"], "loop"> & { loop: GraphLoop | null };
export type GraphLoop = Omit<Schemas["GraphLoop"], "limits"> & { limits: Limits };
export type GraphEdge = Omit<Schemas["GraphEdge"], "kind"> & { kind: "order" | "feedback" };
export type Graph = Omit<Schemas["Graph"], "nodes" | "edges"> & { nodes: GraphNode[]; edges: GraphEdge[] };
export type Source = Schemas["SourceItem"];
export type LoopItem = Schemas["LoopItem"];
export type LoopList = Schemas["LoopList"];
export type IterationItem = Schemas["IterationItem"];
export type IterationList = Schemas["IterationList"];
export type IterationDetail = Schemas["IterationDetail"];
export type Verdict = Schemas["Verdict"];
export type Comparison = Omit<Schemas["Diff"], "one" | "other"> & { one: CompareSide; other: CompareSide };
export type CompareSide = Priced<Schemas["Side"]>;
export type Matrix = Schemas["Matrix"];
export type StepDetail = Schemas["StepDetail"];
export type RecordItem = Schemas["RecordItem"];
export type RecordList = Schemas["RecordList"];
export type Diagnostic = Schemas["Diagnostic"];
export type Validated = Schemas["Validated"];
export type WorkflowItem = Schemas["WorkflowItem"];
export type WorkflowList = Schemas["WorkflowList"];
export type InputItem = Schemas["InputItem"];
export type Started = Schemas["Started"];
export type Forked = Schemas["Forked"];
export type ExperimentItem = Schemas["ExperimentItem"];
export type ExperimentDetail = Schemas["ExperimentDetail"];
export type CaseList = Schemas["CaseList"];
export type GradingList = Schemas["GradingList"];
export type Span = Schemas["Span"];
export type AskedRule = Given<Schemas["AskedRule"]>;
export type LargeValue = Schemas["LargeValue"];
export type Fault = Schemas["Fault"];
export type EventPage = Omit<Schemas["EventPage"], "events"> & { events: JournalEvent[] };

/** The bodies of requests: fields with a default may be left out. */
export type NewRun = Given<Schemas["NewRun"], "workflow">;
export type Continue = Given<Schemas["Continue"]>;
export type Accept = Given<Schemas["Accept"], "iteration">;
export type Fork = Given<Omit<Schemas["Fork"], "steps">, "at"> & { steps?: Record<string, Given<Schemas["StepChange"]>> };
export type Decision = Given<Schemas["Decision"], "at">;
export type Approval = Given<Schemas["Approval"], "at">;
export type Stop = Given<Schemas["Stop"]>;
export type Cancel = Given<Schemas["Cancel"]>;
export type Resume = Given<Schemas["Resume"]>;
export type Known = Given<Schemas["Request"]>;
export type Validation = Given<Schemas["Validation"]>;

type Given<T, Needed extends keyof T = never> = Pick<T, Needed> & { [Name in Exclude<keyof T, Needed>]?: T[Name] | undefined };

/** A value that is too big for an event: fetched by its reference when somebody looks. */
export interface ValueRef {
  $ref: string;
  size: number;
  preview: string;
}

export function isValueRef(value: unknown): value is ValueRef {
  return typeof value === "object" && value !== null && "$ref" in value && "preview" in value;
}
