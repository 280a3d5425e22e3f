"""Loops: `until`, `while`, `doUntil` by the seed's rules, and Azure's `Until` by Azure's."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import Around, find, find_deep, text_at
from whorl.dialects.loom.conditions import condition_of
from whorl.dialects.loom.control import actions_in, read_body
from whorl.dialects.loom.durations import interval, seconds
from whorl.dialects.loom.options import options_of
from whorl.dialects.loom.order import order_of
from whorl.dialects.loom.plain import IT
from whorl.dialects.loom.texts import (
    LIBRARY,
    computed,
    expression,
    has_expression,
    names_read,
    quote,
    reads_more,
    results_read,
    scalars_in,
    text_term,
)
from whorl.dialects.loom.variables import SETTING, declared, name_of
from whorl.dialects.loom.vocabulary import AZURE_LIMIT_WORDS, LIMIT_WORDS
from whorl.ir.walk import is_hidden, walk
from whorl.language import LanguageError, parse
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from typing import Literal

    from whorl.dialects.loom.action import Action, Scene
    from whorl.source import Value

COUNT, COUNT_MAX = 60, 1_000
TIME_S, TIME_MAX_S = 3_600.0, 86_400.0
LOOP_NAMES = ("loopIndex", "loopResult", "loopCount", "loopStartTime")


def read_loop(action: Action) -> ir.Node:
    """A loop; the key `condition` or `expression` says whose rules it follows."""
    written = action.setting("condition")
    is_azure = written is None and action.setting("expression") is not None
    condition = action.setting("expression") if is_azure else written
    if condition is None:
        action.draft.report(
            "W006",
            f"loop {action.name!r} needs a condition",
            action.span,
            label="no condition",
            help="write \"condition\": \"@equals(variables('status'), 'complete')\"",
        )
        condition = Scalar(True, action.span)
    around = _around(action)
    scene = replace(action.scene, path=action.path, loops=(*action.scene.loops, around))
    scene = replace(scene, is_parallel=False)
    body = read_body(action, action.setting("actions"), scene=scene, alone=f"{action.name}_action")
    if not is_azure:
        _warn_unchanging(action, condition)
    _keep_words(action, condition)
    return ir.Loop(
        name=action.name,
        body=body.block,
        until=_until(action, condition, None if is_azure else body.block),
        check=_check(action, is_azure),
        limits=_limits(action, is_azure),
        on_limit=_on_limit(action, is_azure),
        limit_words=AZURE_LIMIT_WORDS if is_azure else LIMIT_WORDS,
        delay=interval(action.draft, _delay(action)) if _delay(action) else None,
        on_iteration_failure=(
            ir.IterationFailure("continue", last_counts=True) if is_azure else ir.IterationFailure()
        ),
        facts=(
            (f"{around.place}:index", "index"),
            (f"{around.place}:latest", "latest"),
            (f"{around.place}:number", "number"),
            (f"{around.place}:previous", "previous"),
            (f"{around.place}:started", "started_at"),
        ),
        bind=_bound(scene, is_azure),
        tells_after=_told(action, around, body.block),
        shape=_shape(around),
    )


def _until(action: Action, condition: Value, body: ir.Block | None) -> ir.When:
    """When the loop stops; by the seed's rules not by what a failed action of the body left."""
    draft = action.draft
    test = condition_of(draft, condition, inverted=action.type == "while")
    inside = {node.name.lower() for _, node in walk(body)} if body is not None else set()
    reads = {
        f"$settled({quote(name)}, {quote(function)})": None
        for scalar in scalars_in(condition)
        for function, name in results_read(scalar.text)
        if name.lower() in inside
    }
    if not reads or test.source[1:2] in "@{" or not _is_parsed(test):
        return ir.When(test)
    prefix = f"if(and({', '.join(reads)}), "
    guarded = ir.Expression(test.syntax, f"@{prefix}{test.source[1:]}, false)")
    if isinstance(condition, Scalar) and test.source == condition.text:
        draft.places.remember(guarded, condition, -len(prefix))
    else:
        draft.places.remember_part(guarded, condition.span)
    return ir.When(guarded, test.source)


def _is_parsed(test: ir.Expression) -> bool:
    try:
        return bool(parse(test))
    except LanguageError:
        # It is told as it is written.
        return False


def _on_limit(action: Action, is_azure: bool) -> Literal["finish", "fail", "time_out"]:
    if not is_azure:
        return "fail"
    return "time_out" if "failwhenlimitsreached" in options_of(action) else "finish"


def _keep_words(action: Action, condition: Value) -> None:
    """What the author calls the loop and its condition, for those who look at it run."""
    written = (
        condition.text
        if isinstance(condition, Scalar)
        else json.dumps(plain(condition), ensure_ascii=False)
    )
    kind = {"dountil": "doUntil"}.get(action.type, action.type)
    action.draft.loops[action.path] = {"type": kind, "condition": written}


def _told(action: Action, around: Around, body: ir.Block) -> tuple[tuple[str, ir.Value], ...]:
    """The result of an iteration, unless the action that gives it keeps it to itself."""
    names = [end[0] for end in around.ends if isinstance(end, list)]
    last = [node for node in body.nodes if node.name in names]
    if not last or any(is_hidden(node, action.draft.workflows) for node in last):
        return ()
    return (("result", computed("own_result", around.ends)),)


def _check(action: Action, is_azure: bool) -> Literal["before", "between"]:
    return "between" if is_azure or action.type == "dountil" else "before"


def _delay(action: Action) -> Value | None:
    delay = action.setting("delay")
    return find(delay, "interval") or delay


def _around(action: Action) -> Around:
    own = find(action.fields, "name")
    names = {action.name: None}
    if isinstance(own, Scalar) and isinstance(own.value, str):
        names[own.value] = None
    actions = actions_in(action.setting("actions"), f"{action.name}_action")
    order = order_of(action.draft, actions)
    return Around(tuple(names), f"loop:{action.path}", order.ends)


def _shape(around: Around) -> ir.Value:
    """The result of the last iteration, how many there were, and why they ended."""
    return ir.Fields(
        (
            ("body", computed("last_of", IT, around.ends)),
            ("iterations", ir.Expression("jinja", "it.loop.iterations", LIBRARY)),
            ("exitReason", ir.Expression("jinja", "it.loop.exit_reason", LIBRARY)),
        )
    )


def _bound(scene: Scene, is_azure: bool) -> tuple[tuple[str, ir.Value], ...]:
    indexes: list[tuple[str | ir.Expression, ir.Value]] = []
    names: list[tuple[str | ir.Expression, ir.Value]] = []
    for around in scene.loops:
        values: tuple[ir.Value, ...] = (
            computed("fact", f"{around.place}:index"),
            computed("last_before", f"{around.place}:previous", around.ends),
            computed("fact", f"{around.place}:number"),
            computed("milliseconds", f"{around.place}:started"),
        )
        for name in around.names:
            indexes.append((name, computed("fact", f"{around.place}:latest")))
            names += [(f"{name}_{word}", v) for word, v in zip(LOOP_NAMES, values, strict=True)]
        if around is scene.loops[-1]:
            names += list(zip(LOOP_NAMES, values, strict=True))
    bound: tuple[tuple[str, ir.Value], ...] = (("$iterations", ir.Fields(tuple(indexes))),)
    return bound if is_azure else (*bound, ("$loop", ir.Fields(tuple(names))))


def _limits(action: Action, is_azure: bool) -> ir.LoopLimits:
    draft = action.draft
    limit = action.setting("limit")
    count, time = find(limit, "count"), find(limit, "timeout")
    usual = draft.files.limits
    iterations: int | ir.Expression = int(usual.get("iterations", COUNT))
    time_s: float | ir.Expression = usual.get("time", TIME_S)
    if isinstance(count, Scalar) and isinstance(count.value, str) and has_expression(count.text):
        iterations = expression(draft, count, f"@int({text_term(count.text)})")
    elif isinstance(count, Scalar):
        iterations = _count(action, count, is_azure)
    if isinstance(time, Scalar) and has_expression(time.text):
        time_s = expression(draft, time)
    elif time is not None:
        time_s = seconds(draft, time, TIME_S)
        if time_s > TIME_MAX_S and not is_azure:
            draft.report(
                "W015",
                f"loop {action.name!r} may take at most PT24H, the system limit",
                time.span,
                label="too long",
                help="write PT24H or less",
            )
    return ir.LoopLimits(iterations=iterations, time_s=time_s, interrupts=not is_azure)


def _count(action: Action, count: Scalar, is_azure: bool) -> int:
    value = count.value
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"limit.count of loop {action.name!r} is a whole number of at least 1"
        action.draft.report("W007", message, count.span, label="no count", help="write 60")
        return COUNT
    if value > COUNT_MAX and not is_azure:
        action.draft.report(
            "W015",
            f"loop {action.name!r} may take at most {COUNT_MAX} iterations, the system limit",
            count.span,
            label="too many",
            help=f"write {COUNT_MAX} or less; nest loops if more are needed",
        )
    return value


def _warn_unchanging(action: Action, condition: Value) -> None:
    """A condition over variables that no action of the loop sets can never change."""
    texts = [scalar.text for scalar in scalars_in(condition)]
    spelled = {name for text in texts for name in names_read(text)}
    read = {name.lower() for name in spelled}
    if not read or any(map(reads_more, texts)) or any(map(is_of_a_loop, read)):
        return
    if read & set_in(action.setting("actions")):
        return
    action.draft.warn(
        "W023",
        f"no action of loop {action.name!r} changes {', '.join(map(repr, sorted(spelled)))}",
        condition.span,
        label="never changes",
        help='set it in the loop: {"type": "setVariable", "name": ..., "value": ...}',
    )


def is_of_a_loop(name: str) -> bool:
    """Whether a variable bears the name of one that a loop gives."""
    own = tuple(word.lower() for word in LOOP_NAMES)
    return name.lower() in own or name.lower().endswith(tuple(f"_{word}" for word in own))


def set_in(value: Value | None) -> set[str]:
    """The variables that actions set, in lower case."""
    found: set[str] = set()
    if isinstance(value, Sequence):
        for item in value:
            found |= set_in(item)
    if isinstance(value, Mapping):
        kind = text_at(value, "type").lower()
        if kind in SETTING:
            found.add(name_of(value).lower())
        if kind == "initializevariable":
            items = declared(find_deep(value, "inputs", "variables") or find(value, "variables"))
            found |= {text_at(item, "name").lower() for item in items}
        for entry in value:
            found |= set_in(entry.value)
    return found
