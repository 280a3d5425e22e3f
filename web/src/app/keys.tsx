/** Keys: screens say which they take while they are shown; `?` lists those that are taken now. */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { createStore, useStore } from "zustand";

export interface KeyBinding {
  /** What the key does, for the list. */
  label: string;
  /** Absent where the key is only listed here, and taken elsewhere. */
  run?: () => void;
}

export type KeyMap = Record<string, KeyBinding>;

/** The words for the keys that have the same meaning on every screen. */
export const KEY_LABELS = {
  j: "next iteration",
  k: "previous iteration",
  "]": "next step",
  "[": "previous step",
  d: "diff with the iteration before",
  f: "follow the newest iteration",
  a: "approve",
  "?": "show the keys",
} as const;

interface Layers {
  layers: readonly { readonly current: KeyMap }[];
}

const layers = createStore<Layers>(() => ({ layers: [] }));

/** The binding for a key: the newest layer that has it. */
export function bindingFor(key: string, maps: readonly KeyMap[]): KeyBinding | undefined {
  return maps.findLast((map) => key in map)?.[key];
}

/** Whether a key press is meant for what is typed into, or is a command of the browser. */
export function isForPage(event: Pick<KeyboardEvent, "ctrlKey" | "metaKey" | "altKey" | "target">): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const target = event.target as { tagName?: string; isContentEditable?: boolean } | null;
  return !target?.isContentEditable && !/^(INPUT|TEXTAREA|SELECT)$/.test(target?.tagName ?? "");
}

/** Takes keys while the component is shown. */
export function useKeys(map: KeyMap): void {
  const current = useRef(map);
  useLayoutEffect(() => {
    current.current = map;
  });
  useEffect(() => {
    layers.setState(({ layers: before }) => ({ layers: [...before, current] }));
    return () =>
      layers.setState(({ layers: before }) => ({ layers: before.filter((one) => one !== current) }));
  }, []);
}

/** Listens for all screens, and shows the list of keys. Stands once in the shell. */
export function KeyListener() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!isForPage(event) || event.defaultPrevented) return;
      if (event.key === "?") {
        setOpen((open) => !open);
        return;
      }
      const maps = layers.getState().layers.map((layer) => layer.current);
      const binding = bindingFor(event.key, maps);
      if (!binding?.run || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      binding.run();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return isOpen ? <KeyHelp onClose={() => setOpen(false)} /> : null;
}

function KeyHelp({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const maps = useStore(layers, (state) => state.layers);
  useEffect(() => dialog.current?.showModal(), []);
  const taken = Object.assign({}, ...maps.map((layer) => layer.current)) as KeyMap;
  const rows = [...Object.entries(taken).map(([key, { label }]) => [key, label] as const), ["?", KEY_LABELS["?"]] as const];
  return (
    <dialog ref={dialog} className="dialog" onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl className="keys">
        {rows.map(([key, label]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button className="button">Close</button>
      </form>
    </dialog>
  );
}
