/** The screens and their addresses. A screen is a default export, loaded when it is opened. */
import type { ComponentType } from "react";
import { loaded } from "../app/loaded";

export interface ScreenProps {
  /** What stands in the pattern's places, such as `id`. */
  values: Record<string, string>;
  query: Record<string, string>;
}

export interface Route {
  pattern: string;
  screen: ComponentType<ScreenProps>;
  /** Its name in the header, for screens that need no values. */
  menu?: string;
}

const screenOf = (load: () => Promise<{ default: ComponentType<ScreenProps> }>) => loaded(load, "the screen");

/** The first pattern that fits is shown. */
export const ROUTES: readonly Route[] = [
  { pattern: "/", menu: "Runs", screen: screenOf(() => import("./runs")) },
  { pattern: "/runs", screen: screenOf(() => import("./runs")) },
  { pattern: "/workflows", menu: "Workflows", screen: screenOf(() => import("./workflows/Workflows")) },
  { pattern: "/workflows/start", screen: screenOf(() => import("./workflows/Workflows")) },
  { pattern: "/edit/:file", screen: screenOf(() => import("../editor/screen")) },
  { pattern: "/experiments", menu: "Experiments", screen: screenOf(() => import("./experiments/List")) },
  { pattern: "/experiments/:name", screen: screenOf(() => import("./experiments/Experiment")) },
  { pattern: "/costs", menu: "Costs", screen: screenOf(() => import("./costs/Costs")) },
  { pattern: "/runs/:id", screen: screenOf(() => import("./run")) },
  { pattern: "/runs/:id/diff", screen: screenOf(() => import("./compare/Compare")) },
  { pattern: "/runs/:id/approvals", screen: screenOf(() => import("./gate/Gate")) },
];
