import { describe, expect, it, vi } from "vitest";
import { bindingFor, isForPage } from "../src/app/keys";
import { errorWords } from "../src/app/Notice";
import { hrefTo, matchPath, parseHash, runPath } from "../src/app/router";
import { chooseIteration, createRunStore, followLatest } from "../src/app/run";
import { takeToken, tokenIn } from "../src/app/token";
import { ApiError } from "../src/api";
import { createFeed, emptyJournal } from "../src/journal";
import { events, longRun } from "./recorded";

describe("the router", () => {
  it("reads and writes addresses", () => {
    expect(parseHash("#/runs/1?loop=a%5B1%5D%2Fb&iteration=2")).toEqual({ path: "/runs/1", query: { loop: "a[1]/b", iteration: "2" } });
    expect(parseHash("")).toEqual({ path: "/", query: {} });
    expect(hrefTo(runPath("a/b"), { loop: "x[1]", none: null })).toBe("#/runs/a%2Fb?loop=x%5B1%5D");
    expect(matchPath("/runs/:id", "/runs/a%2Fb")).toEqual({ id: "a/b" });
    expect(matchPath("/runs/:id", "/runs/")).toBeNull();
    expect(matchPath("/runs/:id", "/runs/%E0")).toEqual({ id: "%E0" });
  });
});

describe("the token", () => {
  it("leaves the address before it is exchanged, and is kept nowhere", async () => {
    const done: string[] = [];
    const open = async (token: string) => done.push(token) > 0;

    expect(await takeToken({ hash: "#token=s3cret&next=/runs/1", pathname: "/", search: "" }, open, (url) => done.push(url))).toBe(true);
    expect(done).toEqual(["/#/runs/1", "s3cret"]);
    expect(takeToken({ hash: "#/runs/1", pathname: "/", search: "" }, open)).toBeNull();
    expect(tokenIn("#/runs/1")).toBeNull();
    expect(tokenIn("#token=x&next=https://elsewhere")).toEqual({ token: "x", next: "/" });
  });
});

describe("keys", () => {
  const run = () => undefined;

  it("belong to the newest layer that takes them", () => {
    const maps = [{ j: { label: "old", run } }, { j: { label: "new", run }, f: { label: "follow", run } }];

    expect(bindingFor("j", maps)?.label).toBe("new");
    expect(bindingFor("x", maps)).toBeUndefined();
  });

  it("are left alone where somebody types or the browser is meant", () => {
    const press = { ctrlKey: false, metaKey: false, altKey: false, target: null };

    expect(isForPage(press)).toBe(true);
    expect(isForPage({ ...press, ctrlKey: true })).toBe(false);
    expect(isForPage({ ...press, target: { tagName: "TEXTAREA" } as unknown as EventTarget })).toBe(false);
  });
});

it("says errors in the server's words", () => {
  expect(errorWords(new ApiError(404, "R110", "no run 'x'", "see `whorl ls`"))).toEqual({ title: "Not found", message: "no run 'x'", help: "see `whorl ls`" });
  expect(errorWords(new Error("oh"))).toMatchObject({ message: "oh" });
});

it("follows the newest iteration until one is chosen", () => {
  const store = createRunStore("r");
  chooseIteration(store, "polish", 2);
  expect(store.getState()).toMatchObject({ chosen: { polish: 2 }, isFollowing: false });
  followLatest(store);
  expect(store.getState()).toMatchObject({ chosen: {}, isFollowing: true });
});

describe("the feed", () => {
  it("makes one change of many events, in their order", () => {
    const frames: (() => void)[] = [];
    const journal = emptyJournal();
    let changes = 0;
    const feed = createFeed(journal, () => (changes += 1), (callback) => frames.push(callback));
    for (const event of events("polish")) {
      if (event.seq === null) feed.text(event.address, event.text ?? "");
      else feed.event(event);
    }
    expect(journal.lastSeq).toBe(0);
    frames[0]?.();

    expect([frames.length, changes, journal.lastSeq, journal.run.status]).toEqual([1, 1, 22, "succeeded"]);
  });

  it("takes a long backlog in slices, so that the page stays fluid", () => {
    const frames: (() => void)[] = [];
    const journal = emptyJournal();
    const feed = createFeed(journal, () => undefined, (callback) => frames.push(callback));
    for (const event of longRun(1_000)) feed.event(event);
    // A clock by which time is up whenever it is looked at.
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1_000));
    const taken: number[] = [];
    for (let next = frames.shift(); next; next = frames.shift()) {
      const before = journal.lastSeq;
      next();
      taken.push(journal.lastSeq - before);
    }
    clock.mockRestore();

    expect(journal.loops.get("polish")?.iterations).toHaveLength(1_000);
    expect(Math.max(...taken)).toBe(64);
  });
});
