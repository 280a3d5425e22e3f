"""What must hold of a machine's state at any time: nothing dangles, nothing leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.frames import children_of

if TYPE_CHECKING:
    from whorl.interpreter.frames import Frame
    from whorl.interpreter.machine import Machine

_EXACT = 1e-9


def unsound(machine: Machine) -> list[str]:
    """What is wrong with the state."""
    return [
        *_frames(machine),
        *_scopes(machine),
        *_pending(machine),
        *_budgets(machine),
        *_places(machine),
    ]


def _frames(machine: Machine) -> list[str]:
    root = machine.state["root"]
    reached = [root] if root else []
    for key in reached:
        reached.extend(children_of(machine.frames[key]))
    once = set(reached)
    found = ["a frame is reached twice"] if len(once) < len(reached) else []
    lost = set(machine.frames) - once
    found += [f"frame {key} is lost: {machine.frames[key]}" for key in lost]
    return found


def _scopes(machine: Machine) -> list[str]:
    scopes = machine.state["scopes"]
    used: set[str] = set()
    for frame in machine.frames.values():
        for name in ("scope", "own_scope", "inner"):
            here = frame.get(name)
            while here and here not in used:
                if here not in scopes:
                    return [f"scope {here} of {frame} is gone"]
                used.add(here)
                here = scopes[here]["up"]
    return [f"scope {key} leaks: {scopes[key]}" for key in set(scopes) - used]


def _pending(machine: Machine) -> list[str]:
    waits = [
        (address, key)
        for key, frame in machine.frames.items()
        for address in frame.get("waits", ())
    ]
    found = [] if len(dict(waits)) == len(waits) else [f"waited for twice: {waits}"]
    expected = {(address, entry["frame"]) for address, entry in machine.pending.items()}
    if set(waits) != expected:
        found.append(f"pending {expected} and waits {waits} differ")
    if machine.done and machine.pending:
        found.append(f"the run has ended, but {list(machine.pending)} is pending")
    return found


def _budgets(machine: Machine) -> list[str]:
    """Every call in flight has its reservation, and no scope has any other."""
    held: dict[str, dict[str, float]] = {"run": {}}
    for frame in machine.frames.values():
        if "reserve" not in frame:
            continue
        scopes, loop = ["run"], frame["loop"]
        while loop is not None:
            scopes.append(loop)
            loop = machine.frames[loop]["loop"]
        for scope in scopes:
            for name, amount in frame["held"].items():
                total = held.setdefault(scope, {})
                total[name] = total.get(name, 0) + amount
            counts = held.setdefault(scope, {})
            counts["sent"] = counts.get("sent", 0) + 1
    found: list[str] = []
    loops = {k: f for k, f in machine.frames.items() if f["kind"] == "loop" and "reserved" in f}
    for address in machine.state.get("queue", ()):
        entry = machine.pending.get(address, {})
        if "sent" in entry:
            found.append(f"{address} waits for money, but was sent")
    for key, limited in [("run", machine.state), *loops.items()]:
        for name in ("cost_usd", "tokens", "calls", "sent"):
            reserved = limited["reserved"].get(name, 0)
            if abs(reserved - held.get(key, {}).get(name, 0)) > _EXACT:
                found.append(f"{key} holds {reserved} {name}, not {held.get(key)}")
    return found


def _places(machine: Machine) -> list[str]:
    """A block counts its nodes that run."""
    return [
        f"{frame['address']!r} counts {frame['running']}, but {_running(frame)} run"
        for frame in machine.frames.values()
        if "running" in frame and frame["running"] != len(_running(frame))
    ]


def crowded(machine: Machine) -> list[str]:
    """The blocks in which more nodes run than may."""
    found: list[str] = []
    for frame in machine.frames.values():
        if frame["kind"] == "block":
            most = machine.plan.blocks[frame["block"]].block.concurrency
            running = _running(frame)
            if most is not None and len(running) > most:
                found.append(f"{running} run at once in {frame['address']!r}, not {most}")
    return found


def _running(frame: Frame) -> list[str]:
    still = frame["ends"] | frame.get("idle", {})
    return [name for name in frame["children"] if name not in still]
