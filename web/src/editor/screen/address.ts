/** The address keeps what is looked at: the file, the opened container, the selection and the mode. */
import { useEffect, useRef } from "react";
import { navigate } from "../../app/router";
import { editPath } from "../paths";
import { useOpenFile, useEditorState } from "../state";
import { drillIn, type Mode } from "../state/store";

/** What does not fit on a narrow screen. */
export const NEEDS_WIDTH: ReadonlySet<Mode> = new Set(["canvas", "split"]);

const MODES: readonly Mode[] = ["canvas", "split", "source", "outline"];

/** The mode that the address asks for, as far as there is room for it. */
export function modeFrom(written: string | undefined, isNarrow: boolean): Mode {
  const mode = MODES.find((one) => one === written) ?? "canvas";
  return isNarrow && NEEDS_WIDTH.has(mode) ? "outline" : mode;
}

export const pathsFrom = (written: string | undefined): string[] => (written ? written.split(",").map(decodeURIComponent) : []);

const written = (paths: readonly string[]): string => paths.map((path) => path.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

/** Keeps the address at what is shown, and what is shown at the address (Back, links). */
export function useAddress(query: Record<string, string>): void {
  const { store } = useOpenFile();
  const file = useEditorState((state) => state.file);
  const drill = useEditorState((state) => state.drill);
  const selected = useEditorState((state) => state.selected);
  const [at, select, mode] = [query["at"] ?? "", query["select"] ?? "", query["mode"]];
  const address = `${at}\n${select}`;
  /** The address as it was last written, or taken over. */
  const known = useRef(address);
  useEffect(() => {
    if (address === known.current) return;
    known.current = address;
    store.setState(({ sketch }) => ({ drill: drillIn(sketch, at), selected: pathsFrom(select) }));
  }, [store, address, at, select]);
  useEffect(() => {
    const now = `${drill}\n${written(selected)}`;
    if (now === known.current) return;
    // Another container is a step of Back; another selection is none.
    const isStep = !known.current.startsWith(`${drill}\n`);
    known.current = now;
    navigate(editPath(file), { at: drill, select: written(selected), mode }, { replace: !isStep });
  }, [file, drill, selected, mode]);
}
