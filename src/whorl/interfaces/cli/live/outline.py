"""What a run is doing, as a tree that a person can walk: its steps, loops, lists and their items.

It reads the frames of the run's machine, which know what no entry tells: how many items there are,
which of them have begun, what is reserved. Nothing here goes through all items of a list.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.interpreter.events import join
from whorl.ir import Assign, Break, Call, Compute, Continue, Stop
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.interpreter.frames import LoopFrame
    from whorl.interpreter.machine import Machine
    from whorl.ir import Loop

# What is computed at once, or ends something else, is not shown.
UNSEEN = (Compute, Assign, Stop, Break, Continue)
# A name in a block, or the index of an item in a list; one after the other, from the run on.
Path: TypeAlias = tuple[str | int, ...]
_HOLDING = frozenset({"loop", "foreach", "group", "branch", "call"})
# How many items are looked at, from the first and from the last that began, in search of some.
_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a block: `key` is its frame, once it has begun; the state is empty before that."""

    name: str
    address: str
    kind: str
    state: str
    key: str = ""

    @property
    def is_running(self) -> bool:
        return self.state == "running"


@dataclass(frozen=True, slots=True)
class Counts:
    """The items of a list by how far they are; together they are `total`."""

    total: int = 0
    done: int = 0
    failed: int = 0
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """One step down the tree: a block, a loop or a list (`kind`), and what is chosen in it."""

    kind: str
    key: str
    chosen: str | int | None = None


class Outline:
    """The tree of one machine, which goes on meanwhile; it holds nothing of its own."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @property
    def root(self) -> str:
        """The block of the run; empty: it has not begun, or was cut off."""
        frame = self.machine.frames.get(self.machine.state["root"])
        return (frame.get("body") or "") if frame is not None else ""

    def places(self, block: str) -> list[Place]:
        """What people see of a block; a call without a name of its own lends its own places."""
        frame, plan = self.machine.block(block)
        nodes = [node for node in plan.block.nodes if not isinstance(node, UNSEEN)]
        if len(nodes) == 1 and isinstance(nodes[0], Call) and nodes[0].unnamed:
            inner = self.body(frame["children"].get(nodes[0].name, ""))
            return self.places(inner) if inner else []
        places: list[Place] = []
        for node in nodes:
            key = frame["children"].get(node.name, "")
            state = str(frame["ends"].get(node.name, {}).get("status", "running" if key else ""))
            address = join(frame["address"], node.name)
            if key:
                address = self.machine.frames[key]["address"]
            places.append(Place(node.name, address, type(node).__name__.lower(), state, key))
        return places

    def body(self, key: str) -> str:
        """The block inside a frame; empty where there is none."""
        frame = self.machine.frames.get(key)
        return (frame.get("body") or "") if frame is not None else ""

    def loop(self, key: str) -> tuple[LoopFrame, Loop]:
        return self.machine.loop_frames[key], self.machine.loop(key)

    def measures(self, key: str) -> bool:
        """Whether the iterations of a loop are to have scores."""
        return bool(self.machine.plan.rules[self.machine.frames[key]["node"]].scores)

    def judge(self, key: str) -> Place | None:
        """The judge that a loop waits for."""
        asked = self.machine.loop_frames[key].get("judge")
        if not asked:
            return None
        return Place("judge", self.machine.frames[asked]["address"], "task", "running", asked)

    def counts(self, key: str) -> Counts:
        frame = self.machine.foreach_frames[key]
        if "items" not in frame:
            return Counts()
        total, failed, left = len(frame["items"]), len(frame["failures"]), frame["left"]
        waiting = total - frame["next"] + len(frame.get("lost", ()))
        return Counts(total, total - left - failed, failed, left - waiting, waiting)

    def item_state(self, key: str, index: int) -> str:
        frame = self.machine.foreach_frames[key]
        name = str(index)
        if name in frame["failures"]:
            return "failed"
        if index >= frame["next"] or name in frame.get("lost", ()):
            return ""
        return "running" if self._is_running(key, name) else "succeeded"

    def item_block(self, key: str, index: int) -> str:
        """The block of an item; empty: it has not begun, or nothing is kept of it."""
        return self.machine.foreach_frames[key].get("children", {}).get(str(index), "")

    def item_error(self, key: str, index: int) -> str:
        """What an item failed of, in the words of what went wrong first."""
        error = self.machine.foreach_frames[key]["failures"].get(str(index), {})
        while isinstance(cause := error.get("cause"), dict) and cause.get("message"):
            error = cause
        return str(error.get("message", ""))

    def item(self, key: str, index: int) -> Any:
        """The item itself; None where it may be what nobody is shown."""
        hidden = self.machine.plan.is_confidential
        return None if hidden else self.machine.foreach_frames[key]["items"][index]

    def running_items(self, key: str, most: int) -> list[int]:
        """Some of the items that are under way, in their order."""
        children = self.machine.foreach_frames[key].get("children", {})
        most = min(most, self.counts(key).running)
        found: dict[int, None] = {}
        ends = (islice(children, _LOOKED_AT), islice(reversed(children), _LOOKED_AT))
        for name in chain(*ends):
            if len(found) >= most:
                break
            if self._is_running(key, name):
                found[int(name)] = None
        return sorted(found)

    def failed_items(self, key: str, most: int) -> list[int]:
        """The items that failed last."""
        failures = self.machine.foreach_frames[key].get("failures", {})
        return [int(name) for name in islice(reversed(failures), most)]

    def _is_running(self, key: str, name: str) -> bool:
        child = self.machine.foreach_frames[key]["children"].get(name)
        return child is not None and "ended" not in self.machine.frames[child]

    def levels(self, path: Path) -> list[Level]:
        """The way down to what is looked at, as far as it is there."""
        levels: list[Level] = []
        block, rest = self.root, list(path)
        while block:
            place = self._place(block, rest.pop(0)) if rest else None
            levels.append(Level("block", block, place.name if place else None))
            block = ""
            if place is None or not place.key:
                break
            if place.kind == "loop":
                levels.append(Level("loop", place.key))
            if place.kind != "foreach":
                # Of a loop that has ended the last body is kept, and nobody looks at that.
                is_over = place.kind == "loop" and not place.is_running
                block = "" if is_over else self.body(place.key)
                continue
            index = rest.pop(0) if rest else None
            total = self.counts(place.key).total
            chosen = index if isinstance(index, int) and 0 <= index < total else None
            levels.append(Level("list", place.key, chosen))
            block = "" if chosen is None else self.item_block(place.key, chosen)
        return levels

    def as_far(self, path: Path) -> Path:
        """A path as far as it leads: what was looked at may have ended meanwhile."""
        return tuple(level.chosen for level in self.levels(path) if level.chosen is not None)

    def _place(self, block: str, name: str | int) -> Place | None:
        return next((place for place in self.places(block) if place.name == name), None)

    def busiest(self, path: Path = (), before: Path = (), *, is_moved: bool = False) -> Path:
        """From a path on down to what is under way; what was looked at `before` comes first.

        Where nothing is under way, the last loop or list is worth a look: at the top, and anywhere
        if a person has moved there.
        """
        while True:
            levels, path = self.levels(path), self.as_far(path)
            if not levels or levels[-1].chosen is not None:
                return path
            last = before[len(path)] if before[: len(path)] == path != before else None
            chosen = self._busy(levels[-1], last, takes_ended=is_moved or not path)
            if chosen is None:
                return path
            path = (*path, chosen)

    def _busy(self, level: Level, last: str | int | None, *, takes_ended: bool) -> str | int | None:
        if level.kind == "list":
            if isinstance(last, int) and self._is_running(level.key, str(last)):
                return last
            return next(iter(self.running_items(level.key, 1)), None)
        places = self._holding(level.key) if level.kind == "block" else []
        names = [place.name for place in places if place.is_running]
        if last in names:
            return last
        return names[0] if names else places[-1].name if places and takes_ended else None

    def beside(self, path: Path, step: int) -> Path | None:
        """The next or the last place beside what is looked at, or beside what that lies in."""
        path = self.as_far(path)
        for depth in reversed(range(len(path))):
            sibling = self._sibling(path[:depth], path[depth], step)
            if sibling is not None:
                return self.busiest((*path[:depth], sibling), is_moved=True)
        return None

    def _sibling(self, around: Path, chosen: str | int, step: int) -> str | int | None:
        level = self.levels(around)[-1]
        if isinstance(chosen, int):
            index = chosen + step
            return index if 0 <= index < self.counts(level.key).total else None
        names = [place.name for place in self._holding(level.key)]
        at = names.index(chosen) + step if chosen in names else -1
        return names[at] if 0 <= at < len(names) else None

    def _holding(self, block: str) -> list[Place]:
        """The places of a block that one can look into."""
        return [place for place in self.places(block) if place.kind in _HOLDING and place.key]
