/** The canvas: layout as pure functions, states from the journal, and the component. */
export { GraphCanvas } from "./GraphCanvas";
export { layoutOf, type Layout, type Placed } from "./layout";
export { canvasStates, loopChips, type CanvasState, type CanvasStates, type LoopChips } from "./states";
