/** The keys of the page of a run. */
import type { Graph } from "../../api";
import { KEY_LABELS, useKeys } from "../../app/keys";
import { navigate, runPath } from "../../app/router";
import { chooseIteration, followLatest, selectNode, useRunStore } from "../../app/run";
import { useMay } from "../../app/session";
import { openDialog } from "../../dialogs";
import { openGates } from "../../journal";
import { loopLookedAt, neighbour, numberLookedAt, readingOrder, stepped } from "./focus";

export function useRunKeys(id: string, graph: Graph): void {
  const store = useRunStore();
  const { may } = useMay("approve");
  const now = () => {
    const view = store.getState();
    return { ...view, looked: loopLookedAt(view.journal, view.loop, view.chosen) };
  };
  const move = (step: 1 | -1) => () => {
    const { looked, chosen } = now();
    const next = looked && stepped(looked, chosen, step);
    if (looked && next) chooseIteration(store, looked.address, next);
  };
  const walk = (step: 1 | -1) => () => selectNode(store, neighbour(readingOrder(graph), now().selected, step));
  const follow = () => {
    const { looked, chosen, isFollowing } = now();
    if (isFollowing && looked) chooseIteration(store, looked.address, numberLookedAt(looked, chosen));
    else followLatest(store);
  };
  const compare = () => {
    const { looked, chosen, selected } = now();
    const number = looked ? numberLookedAt(looked, chosen) : 0;
    if (looked && number > 1) navigate(runPath(id, "/diff"), { loop: looked.address, one: number - 1, other: number, node: selected.split("/").at(-1) });
  };
  const approve = () => {
    const gates = openGates(now().journal);
    if (gates.length > 1 || (gates[0] && !may)) navigate(runPath(id, "/approvals"));
    else if (gates[0]) openDialog({ kind: "approve", run: id, address: gates[0].address });
  };
  useKeys({
    j: { label: KEY_LABELS.j, run: move(1) },
    k: { label: KEY_LABELS.k, run: move(-1) },
    "]": { label: KEY_LABELS["]"], run: walk(1) },
    "[": { label: KEY_LABELS["["], run: walk(-1) },
    d: { label: KEY_LABELS.d, run: compare },
    f: { label: KEY_LABELS.f, run: follow },
    a: { label: KEY_LABELS.a, run: approve },
    Escape: { label: "close the step", run: () => selectNode(store, "") },
  });
}
