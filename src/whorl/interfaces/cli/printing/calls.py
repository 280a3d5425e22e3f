"""What was asked and answered at a place: each call under its own address, tools as a conversation.

Calls that were made side by side stand one below the other, whatever order their answers came in.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from whorl.errors import safe
from whorl.interfaces import status_words
from whorl.interfaces.advice import advised
from whorl.interfaces.cli.paste_options import carrying
from whorl.interfaces.cli.printing import summary
from whorl.interfaces.cli.terminal import indented, text_lines
from whorl.interfaces.formatting import cut, joined, line, one_line, plain_lines, used, value_lines
from whorl.interfaces.progress import usage_of
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting.results import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, RunId

# Where a model asks again with the results of tools, and where a tool is called.
_TURN, _TOOL = re.compile(r"/:turn[0-9]+(#[0-9]+)?$"), re.compile(r"/:tool[0-9]+(#[0-9]+)?$")
# What an error keeps of an answer that could not be used, a program or a function that failed.
_KEPT = ("answer", "stdout", "stderr", "traceback")


def steps_in(entries: Iterable[Entry]) -> dict[str, list[Event]]:
    """The events of each step, by its address; turns and tools belong to the step that has them."""
    steps: dict[str, list[Event]] = {}
    for entry in entries:
        address = _TOOL.sub("", _TURN.sub("", entry.event.address))
        steps.setdefault(address, []).append(entry.event)
    return steps


def step_lines(run: RunId, events: Iterable[Event], *, whole: bool) -> Iterator[str]:
    """One attempt at a step: what it was given, which tools it used, what it gave."""
    calls: dict[str, list[Event]] = {}
    for event in events:
        calls.setdefault(event.address, []).append(event)
    for at, (address, own) in enumerate(calls.items()):
        is_later = at > 0 and bool(_TURN.search(address))
        for event in own:
            if event.kind == "task.started" and is_later:
                continue
            lines = _event_lines(run, event, shown(event), whole=whole)
            yield from indented(lines) if at > 0 and _TOOL.search(address) else lines


def _event_lines(run: RunId, event: Event, body: dict[str, Any], *, whole: bool) -> Iterator[str]:
    match event.kind:
        case "task.started":
            sign = "→ " if _TOOL.search(event.address) else ""
            yield f"{sign}{safe(event.address)}  {line(str(body.get('kind', '')), 40)}"
            for name, value in (body.get("inputs") or {}).items():
                yield from indented(_input_lines(name, value, whole=whole))
        case "task.finished":
            yield from indented(_answer_lines(event, body, whole=whole))
        case "task.failed":
            error = body.get("error") or {}
            yield f"  ✗ [{error.get('code')}] {safe(str(error.get('message')))}"
            for name in _KEPT:
                if (error.get("detail") or {}).get(name):
                    yield from indented(_input_lines(name, error["detail"][name], whole=whole))
        case "task.in_doubt":
            yield "  in doubt: sent before the run was interrupted, and its answer is lost"
        case "gate.waiting":
            gate = {"address": event.address, "show": None, "reason": ""} | body
            yield from summary.gate_lines(gate)
        case "gate.decided":
            yield f"  {status_words.request_words(Request(event.kind, event.address, body))}"
        case "warning":
            yield f"  warning[{body.get('code')}]: {carrying(safe(advised(body, run)))}"
        case "timer.fired" if event.address.endswith("/:wait"):
            yield f"  the wait was over at {clock(event.at)}"
        case "node.skipped":
            yield f"  skipped: {body.get('cause') or 'not needed'}"
        case "node.finished":
            yield f"  finished: {body.get('branch') or body.get('status') or 'succeeded'}"


def _answer_lines(event: Event, body: dict[str, Any], *, whole: bool) -> Iterator[str]:
    calls, tokens, cost = usage_of(body)
    model = line(str(body.get("model", "")), 60)
    about = joined(model, used(tokens, cost)) if calls or body.get("model") else ""
    turn = safe(event.address) if _TURN.search(event.address) else ""
    value, wanted = body.get("value"), body.get("calls")
    if wanted:
        names = ", ".join(line(str(call.get("name")), 40) for call in wanted)
        yield joined(f"wants {names}:", about, turn)
        yield from indented(_value(value, whole=whole)) if value else ()
        return
    yield joined("←" if _TOOL.search(event.address) else "answer:", about, turn)
    yield from indented(_value(value, whole=whole))


def _input_lines(name: str, value: Json, *, whole: bool) -> Iterator[str]:
    """What a call was given, as it was: texts below their names, and conversations by speaker."""
    head = f"{line(name, 40)}:"
    if isinstance(value, str):
        yield head
        yield from indented(plain_lines(value))
    elif name in ("messages", "turns") and isinstance(value, list):
        yield head
        for message in value:
            yield from indented(_message_lines(message, whole=whole))
    elif (words := one_line(value)) is not None:
        yield f"{head} {words}"
    else:
        yield head
        yield from indented(value_lines(value, whole=whole))


def _message_lines(message: Json, *, whole: bool) -> Iterator[str]:
    if not isinstance(message, dict):
        yield from value_lines(message, whole=whole)
        return
    content = next((message[k] for k in ("content", "error", "value") if message.get(k)), "")
    calls: Any = message.get("calls") or []
    wanted = ", ".join(line(str(call.get("name")), 40) for call in calls)
    yield f"{line(str(message.get('role')), 20)}:{f' wants {wanted}' if wanted else ''}"
    yield from indented(value_lines(content, whole=whole)) if content else ()


def _value(value: Json, *, whole: bool) -> Iterator[str]:
    return value_lines(value, text_lines, whole=whole, indent=4)


def result_lines(value: Json, lines_max: int = 0, *, whole: bool = False) -> Iterator[str]:
    """A result, set in; where it is one of several, so many lines of it."""
    lines = value_lines(value, text_lines, whole=whole, indent=2)
    return indented(cut(lines, lines_max) if lines_max and not whole else lines)


def clock(at: float) -> str:
    """A moment in the person's own time; `?` where a store of others holds none."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "?"
