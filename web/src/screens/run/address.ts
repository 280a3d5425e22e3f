/** The address of a run's page is what is looked at: read into the view, and written when that changes. */
import { useEffect } from "react";
import { navigate, parseHash, runPath } from "../../app/router";
import { chooseIteration, followLatest, lookAt, selectNode, useRunStore, type RunStore, type RunView } from "../../app/run";
import { addressOf } from "../../journal";

type Query = Record<string, string>;

/** What a copy of the address shows: the loop, its iteration unless the newest is followed, the node. */
export function queryOf({ journal, selected, loop, chosen, isFollowing }: RunView): Query {
  const address = loop && !isFollowing ? addressOf(journal, loop, chosen) : loop;
  return { loop: address, iteration: isFollowing ? "" : String(chosen[address] ?? ""), node: selected };
}

export function showQuery(store: RunStore, { loop = "", iteration = "", node = "" }: Query): void {
  const now = queryOf(store.getState());
  if (now["node"] !== node) selectNode(store, node);
  if (now["loop"] === loop && now["iteration"] === iteration) return;
  if (loop && /^\d+$/.test(iteration)) return chooseIteration(store, loop, Number(iteration));
  followLatest(store);
  lookAt(store, loop);
}

/** A step for the back button: something was opened or closed, not only another one of the same looked at. */
const isStep = (now: RunView, before: RunView): boolean =>
  (now.selected === "") !== (before.selected === "") || now.isFollowing !== before.isFollowing || now.loop !== before.loop;

export function useAddress(id: string, { loop = "", iteration = "", node = "" }: Query): void {
  const store = useRunStore();
  useEffect(() => showQuery(store, { loop, iteration, node }), [store, loop, iteration, node]);
  useEffect(
    () =>
      store.subscribe((now, before) => {
        const isSame = now.selected === before.selected && now.loop === before.loop && now.chosen === before.chosen && now.isFollowing === before.isFollowing;
        if (isSame) return;
        navigate(runPath(id), { ...parseHash(location.hash).query, ...queryOf(now) }, { replace: !isStep(now, before) });
      }),
    [id, store],
  );
}
