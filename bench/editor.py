"""How quickly a file is drawn and changed in an editor: `python -m bench editor`."""

from __future__ import annotations

import gc
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.services.project import Project
from whorl.wings.editor import files as editing
from whorl.wings.editor.kit.changes import parsed

if TYPE_CHECKING:
    from collections.abc import Callable

# What an operation may take, in milliseconds, by the nodes of the file.
# A canvas has at most 1,000 nodes, and some operations add a few.
GOALS = {100: 150, 300: 300, 990: None}
DIALECTS = {"native": "yaml", "studio": "json", "shodan": "yaml"}
WORDS = ("set", "add", "move", "rename", "wrap", "unwrap", "remove", "connect", "place")


def measure(full: bool) -> None:
    """Prints the milliseconds of CPU of each operation."""
    # As the command does it: a server looks for garbage in larger parts than Python by itself.
    gc.set_threshold(20_000, 5, 80)
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), None, Path(folder) / "whorl.db", {})
        for count, goal in GOALS.items():
            wanted = f"goal: {goal}" if goal else "no goal"
            print(f"One operation on {count:,} nodes, milliseconds of CPU, best of 3 ({wanted})")
            print(f"  {'':<12}" + "".join(f"{word:>9}" for word in ("draw", *WORDS)))
            for dialect in DIALECTS:
                _row(project, dialect, count)


def _row(project: Project, dialect: str, count: int) -> None:
    text = text_of(dialect, count)
    file = str(project.root / f"file.{DIALECTS[dialect]}")
    times = [_best(parsed.cache_clear, lambda: editing.sketch_text(project, text, file))]
    for word in WORDS:
        before, operation = _operation(project, dialect, count, word)
        times.append(_best(*_prepared(project, before, file, operation)) if operation else 0)
    print(f"  {dialect:<12}" + "".join(f"{one:>9.0f}" if one else f"{'-':>9}" for one in times))


def _prepared(
    project: Project, text: str, file: str, operation: dict[str, Any]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """What has been done before an operation, as the page has drawn its text, and the operation."""

    def prepare() -> None:
        parsed.cache_clear()
        editing.sketch_text(project, text, file)

    return prepare, lambda: _answer(project, text, file, operation)


def _best(prepare: Callable[[], object], work: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        prepare()
        clock = time.process_time()
        work()
        found.append((time.process_time() - clock) * 1000)
    return min(found)


def _answer(project: Project, text: str, file: str, operation: dict[str, Any]) -> dict[str, Any]:
    """What the page gets for an operation, before anything is validated."""
    return editing.answer(text, editing.edit_text(project, text, file, [operation]))


def _operation(project: Project, dialect: str, count: int, word: str) -> tuple[str, dict[str, Any]]:
    """An operation in the middle of a file, and the text that it is made on."""
    text, file = text_of(dialect, count), f"{project.root}/file.{DIALECTS[dialect]}"
    half = count // 2
    one, other, last = f"s{half}", f"s{half + 1}", f"s{count - 1}"
    place = {"x": 4, "y": 2}
    wrap = {"operation": "wrap", "at": [one, other], "kind": "repeat", "name": "around"}
    fields = {
        "native": {"set": ["ask"], "add": "ask"},
        "studio": {"set": ["data", "prompt"], "add": "llm"},
        "shodan": {"set": ["data", "prompt"], "add": "agent"},
    }[dialect]
    operations: dict[str, dict[str, Any]] = {
        "set": {"at": one, "field": fields["set"], "value": "Something else."},
        "add": {"into": "", "kind": fields["add"], "name": "new"},
        "rename": {"at": one, "name": "renamed"},
        "remove": {"at": last},
        "unwrap": {"at": "around"},
        "connect": {"from": {"at": f"s{half - 4}"}, "to": {"at": one}},
        "place": {"at": one, **place},
        "wrap": wrap,
        "move": {"at": last, "into": "", "after": one} if dialect == "native" else {},
    }
    if dialect == "native":
        operations["place"] = {}
    if dialect == "shodan":
        ends = {"at": f"s{count - 2}", "port": "response"}, {"at": last, "port": "draft"}
        operations["connect"] = dict(zip(("from", "to"), ends, strict=True))
    chosen = operations[word]
    if word == "move" and dialect == "shodan":
        text = str(_answer(project, text, file, wrap)["text"])
        chosen = {"at": f"s{half + 2}", "into": "around"}
    if word == "unwrap":
        text = str(_answer(project, text, file, wrap)["text"])
    return text, {"operation": word, **chosen} if chosen else {}


def text_of(dialect: str, count: int) -> str:
    """A file of many nodes, each of which reads the one before it."""
    return {"native": _native, "studio": _studio, "shodan": _shodan}[dialect](count)


def _native(count: int) -> str:
    steps = ["  s0:\n    ask: Begin.\n"]
    steps += [
        f"  s{number}:\n    # step {number}\n    ask: Go on from {{{{ s{number - 1} }}}}.\n"
        for number in range(1, count)
    ]
    # More than a thousand calls need a budget.
    return "whorl: 1\nname: long\nmodel: scripted\nbudget: 9\nsteps:\n" + "".join(steps)


def _position(number: int) -> dict[str, int]:
    return {"x": number % 20 * 260, "y": number // 20 * 180}


def _studio(count: int) -> str:
    kinds = ["input", *["llm"] * (count - 2), "output"]
    nodes = []
    for number, kind in enumerate(kinds):
        data = {"prompt": f"Go on from {{{{s{number - 1}.response}}}}."} if kind == "llm" else {}
        node = {"id": f"s{number}", "type": kind, "position": _position(number), "data": data}
        nodes.append(json.dumps(node))
    edges = [
        json.dumps({"id": f"e{number}", "source": f"s{number - 1}", "target": f"s{number}"})
        for number in range(1, count)
    ]
    lists = [",\n    ".join(items) for items in (nodes, edges)]
    return f'{{\n  "nodes": [\n    {lists[0]}\n  ],\n  "edges": [\n    {lists[1]}\n  ]\n}}\n'


def _shodan(count: int) -> str:
    nodes = [_shodan_node(number, has_input=number > 0) for number in range(count)]
    edges = [
        f"  - {{id: e{number}, source: s{number - 1}, target: s{number},"
        ' sourceHandle: "output:response", targetHandle: "input:draft"}\n'
        for number in range(1, count - 1)
    ]
    head = "version: 1\nmetadata: {name: long}\nnodes:\n"
    return head + "".join(nodes) + "edges:\n" + "".join(edges)


def _shodan_node(number: int, *, has_input: bool) -> str:
    place = _position(number)
    inputs = "      inputs: [{name: draft}]\n" if has_input else ""
    prompt = "Go on from {{ inputs.draft }}." if has_input else "Begin."
    return (
        f"  - id: s{number}\n    position: {{x: {place['x']}, y: {place['y']}}}\n"
        f'    data:\n      nodeType: agent\n      prompt: "{prompt}"\n{inputs}'
    )
