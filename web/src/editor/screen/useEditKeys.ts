/** The keys of the editor; none of them while something is typed. */
import { useCallback, useEffect, type KeyboardEvent as KeyPress } from "react";
import { useKeys } from "../../app/keys";
import type { CanvasAsk } from "../canvas/asking";
import { disconnect, inside, moveBy, neighbour, nodeOf, placed, remove, type Way } from "../canvas/commands";
import { useConnect } from "../canvas/connecting";
import { holds, isPlacedDialect, toggled, type Picture } from "../canvas/model";
import type { Operation } from "../contract";
import { useOpenFile } from "../state";
import { say } from "../state/store";
import { duplicated } from "./clipboard";

export interface EditKeys {
  picture: Picture;
  linking: string;
  setLinking: (path: string) => void;
  chosenEdge: string;
  setChosenEdge: (id: string) => void;
  ask: (question: CanvasAsk) => void;
  open: (path: string) => void;
  up: () => void;
  showSource: () => void;
}

const WAYS: Record<string, Way> = { ArrowLeft: "earlier", ArrowRight: "later", ArrowUp: "out", ArrowDown: "in" };
const STEPS: Record<string, [number, number]> = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };

export function isTyping(event: Event): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** The step that has the focus, where one has. */
function focused(): string[] {
  const path = document.activeElement?.closest<HTMLElement>(".edit-canvas .react-flow__node")?.dataset["id"];
  return path === undefined || path.startsWith("empty:") ? [] : [path];
}

/** Takes the keys that hold on the whole screen, and gives those of the canvas. */
export function useEditKeys(keys: EditKeys) {
  const { store, actions } = useOpenFile();
  const connect = useConnect(keys.ask);
  const { picture, linking, setLinking, chosenEdge, setChosenEdge, ask, open, up, showSource } = keys;
  const apply = (operations: Operation[]) => void actions.apply(operations);
  const now = store.getState;
  // Who has gone to another step by Tab means that one.
  const chosen = () => {
    const [here] = focused();
    return here === undefined || now().selected.includes(here) ? now().selected : [here];
  };
  const withOne = (act: (path: string) => void) => () => {
    const path = chosen().at(-1);
    if (path) act(path);
    else say(store, "select a step first");
  };
  const removeSelected = () => {
    const { sketch, dialect } = now();
    const selected = chosen();
    const edge = picture.edges.find((one) => one.id === chosenEdge);
    if (edge) {
      setChosenEdge("");
      return apply([disconnect(edge.edge)]);
    }
    if (selected.some((path) => inside(sketch, path).length > 0)) return ask({ kind: "remove", paths: selected });
    apply(remove(selected, isPlacedDialect(dialect)));
  };
  const link = withOne((path) => {
    if (linking && linking !== path) {
      connect(linking, path);
      setLinking("");
    } else {
      setLinking(linking ? "" : path);
      say(store, linking ? "nothing is connected" : `connect ${path}: go to the target and press Enter`);
    }
  });

  useKeys({
    "/": { label: "palette", run: () => ask({ kind: "add", place: null }) },
    a: { label: "add after the selection", run: () => ask({ kind: "add", place: null }) },
    w: { label: "wrap the selection", run: withOne(() => ask({ kind: "wrap", paths: chosen() })) },
    u: { label: "unwrap", run: withOne((path) => ask({ kind: "unwrap", path })) },
    c: { label: "connect: then go to the target and press Enter", run: link },
    F2: { label: "rename", run: withOne((path) => ask({ kind: "rename", path })) },
    Delete: { label: "remove", run: () => (chosenEdge || chosen().length > 0 ? removeSelected() : undefined) },
    Backspace: { label: "go up, out of the container", run: up },
    e: { label: "show the source of the step", run: showSource },
    t: { label: "try the step, or one iteration", run: withOne((path) => store.setState({ selected: [path], trying: path })) },
    Escape: { label: "stop connecting, clear the selection", run: () => (linking ? setLinking("") : store.setState({ selected: [] })) },
    // These are listed here, and taken where the canvas or the whole page has the focus.
    Enter: { label: "go into the container; while connecting: connect" },
    "Arrows": { label: "go to the next step in that direction; with Shift: select it too" },
    "Space": { label: "collapse or expand" },
    "Alt+←→": { label: "move earlier, later" },
    "Alt+↑↓": { label: "move out of, into a container" },
    "Ctrl+D": { label: "duplicate" },
    "Ctrl+C/X/V": { label: "copy, cut, paste" },
    "Ctrl+Z/Shift+Z": { label: "undo, redo" },
    "Ctrl+S": { label: "save" },
  });

  useCommandKeys(() => apply(duplicated(now())));

  const onKeyDown = (event: KeyPress) => {
    const node = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node");
    if (isTyping(event.nativeEvent) || event.ctrlKey || event.metaKey || event.target !== node) return;
    const path = node.dataset["id"] ?? "";
    const { sketch, selected } = now();
    if (event.altKey && WAYS[event.key]) {
      event.preventDefault();
      const [dx, dy] = STEPS[event.key] ?? [0, 0];
      return apply(picture.isPlaced ? placed(sketch, picture, path, { x: dx, y: dy }) : moveBy(sketch, path, WAYS[event.key] ?? "later"));
    }
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = neighbour(picture.boxes, path, event.key)?.node.path;
      const before = selected.includes(path) ? selected : [...selected, path];
      if (next) store.setState({ selected: event.shiftKey ? [...before.filter((one) => one !== next), next] : [next] });
    } else if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      if (linking && path !== linking) {
        connect(linking, path);
        setLinking("");
      } else open(path);
    } else if (event.key === " ") {
      event.preventDefault();
      const found = nodeOf(sketch, path);
      if (found && holds(found)) store.setState(({ collapsed }) => ({ collapsed: toggled(collapsed, path) }));
    }
  };
  return { onKeyDown };
}

/** The keys with Ctrl, or Cmd. */
function useCommandKeys(duplicate: () => void): void {
  const { actions, saving } = useOpenFile();
  const listen = useCallback(
    (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
      const key = event.key.toLowerCase();
      if (key === "s") {
        event.preventDefault();
        void saving.save();
        return;
      }
      if (isTyping(event) || document.querySelector("dialog[open]")) return;
      const act = key === "z" ? (event.shiftKey ? actions.redo : actions.undo) : key === "y" ? actions.redo : key === "d" ? duplicate : null;
      if (!act) return;
      event.preventDefault();
      act();
    },
    [actions, saving, duplicate],
  );
  useEffect(() => {
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [listen]);
}
