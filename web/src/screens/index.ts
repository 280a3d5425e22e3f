/** The screens and their addresses. A screen is a default export, loaded when it is opened. */
import { lazy, type ComponentType } from "react";

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

/** The first pattern that fits is shown. */
export const ROUTES: readonly Route[] = [
  { pattern: "/", menu: "Runs", screen: lazy(() => import("./runs")) },
  { pattern: "/workflows", menu: "Workflows", screen: lazy(() => import("./workflows/Workflows")) },
  { pattern: "/workflows/start", screen: lazy(() => import("./workflows/Workflows")) },
  { pattern: "/edit/:file", screen: lazy(() => import("../editor/screen")) },
  { pattern: "/experiments", menu: "Experiments", screen: lazy(() => import("./experiments/List")) },
  { pattern: "/experiments/:name", screen: lazy(() => import("./experiments/Experiment")) },
  { pattern: "/costs", menu: "Costs", screen: lazy(() => import("./costs/Costs")) },
  { pattern: "/runs/:id", screen: lazy(() => import("./run")) },
  { pattern: "/runs/:id/compare", screen: lazy(() => import("./compare/Compare")) },
  { pattern: "/runs/:id/gate", screen: lazy(() => import("./gate/Gate")) },
];
