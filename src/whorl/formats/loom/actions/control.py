"""Actions that hold other actions: conditions, switches, for-each, scopes, branches, loops.

Loops are `until`, `while` and `doUntil` by the seed's rules, and Azure's `Until` by Azure's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import Span
from whorl.formats.loom import texts, words
from whorl.formats.loom.action import EnclosingLoop
from whorl.formats.loom.actions.steps import variables_in
from whorl.formats.loom.forms import find, find_mapping, text_at
from whorl.formats.loom.order import order_of
from whorl.ir.walk import is_hidden, walk
from whorl.language import LanguageError, MappingScope, evaluate_metered, parse
from whorl.source import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from whorl.formats.loom.action import Action, Location
    from whorl.formats.loom.order import Order
    from whorl.ir.loop_rules import Fact
    from whorl.language import Json
    from whorl.source import Value

AZURE_CONCURRENCY = 20
CONCURRENCY_MAX = 50
COUNT, COUNT_MAX = 60, 1_000
TIME_S, TIME_MAX_S = 3_600.0, 86_400.0
_FUEL = 10_000
# What a loop tells its actions, at its place.
_FACTS: tuple[Fact, ...] = ("index", "latest", "number", "previous", "started_at")


def actions_in(part: Value | None, alone: str) -> Mapping:
    """The actions of a part: under `actions`, as they stand, or a single one that has no name."""
    if not isinstance(part, Mapping):
        return Mapping((), part.span if part is not None else Span("", 1, 1))
    if isinstance(find(part, "type"), Scalar):
        # The name of an action that sets a variable is the variable's.
        sets = "variable" in text_at(part, "type").lower()
        name = "" if sets else text_at(part, "name")
        return Mapping((Entry(Scalar(name or alone, part.span), part),), part.span)
    for name in ("actions", "steps"):
        inner = find_mapping(part, name)
        if inner is not None:
            return inner
    is_block = all(isinstance(entry.value, Mapping) for entry in part)
    return part if is_block else Mapping((), part.span)


def _read_body(
    action: Action, part: Value | None, location: Location, alone: str
) -> tuple[ir.Block, Order]:
    """The actions of a part, with their order."""
    actions = actions_in(part, alone)
    order = order_of(action.context, actions, parallel=location.is_parallel)
    action.context.scopes.setdefault(action.name, []).extend(entry.name for entry in actions)
    return location.read_block(action.context, actions, order, location), order


def _inside(action: Action) -> Location:
    return replace(action.location, path=action.path, is_parallel=False)


def _missing(action: Action, name: str, example: str) -> None:
    action.missing(f"needs {name!r}", f"no {name}", f'write "{name}": "{example}"')


def _read_case(
    action: Action, part: Value | None, name: str, slot: str, alone: str
) -> tuple[ir.Case, list[Json]]:
    """A case of a branch, and the ends of its actions."""
    location = replace(_inside(action), path=f"{action.path}@{slot}")
    body, order = _read_body(action, part, location, alone)
    return ir.Case(name, body), order.ends


def read_if(action: Action) -> ir.Node:
    condition = action.setting("condition", "expression")
    yes, no = action.setting("actions", "then"), action.setting("else")
    if condition is None:
        _missing(action, "condition", "@equals(1, 1)")
        condition = Scalar(False, action.span)
    then, then_ends = _read_case(action, yes, "true", "case.true", f"{action.name}_then")
    other, other_ends = _read_case(action, no, "false", "default", f"{action.name}_else")
    return ir.Branch(
        name=action.name,
        cases=(replace(then, when=action.context.condition(condition)),),
        default=other,
        shape=texts.bodied(
            texts.computed("taken_of", texts.IT, {"true": then_ends, "false": other_ends})
        ),
    )


def read_switch(action: Action) -> ir.Node:
    subject = action.setting("on", "expression")
    if subject is None:
        _missing(action, "on", "@body('think').action")
    cases: list[ir.Case] = []
    ends: dict[str, Json] = {}
    written, default = action.setting("cases"), action.setting("default")
    for entry in written if isinstance(written, Mapping) else ():
        name = entry.name
        case, ends[name] = _read_case(action, entry.value, name, f"case.{name}", name)
        wanted, kind = find(entry.value, "case"), find(entry.value, "type")
        # It may be a single action, or actions by their names.
        if kind is None and (wanted or find(entry.value, "actions")):
            owner = f"case {name[:60]!r} of {action.name!r}"
            action.context.check_spelling(entry.value, words.OBJECT_FIELDS["case"], owner)
        is_stated = isinstance(wanted, Scalar) and not isinstance(kind, Scalar)
        value = ir.Constant(wanted.value if is_stated else name)  # type: ignore[union-attr]
        cases.append(replace(case, equals=value))
    other: ir.Case | None = None
    if default is not None:
        alone = f"{action.name}_default"
        other, ends["default"] = _read_case(action, default, "default", "default", alone)
    return ir.Branch(
        name=action.name,
        subject=action.context.value(subject),
        cases=tuple(cases),
        default=other,
        shape=texts.bodied(texts.computed("taken_of", texts.IT, ends)),
    )


def read_foreach(action: Action) -> ir.Node:
    items = action.setting("foreach", "items")
    if items is None:
        _missing(action, "foreach", "@body('fetch').items")
    location = replace(_inside(action), is_in_each=True)
    body, order = _read_body(action, action.setting("actions"), location, f"{action.name}_item")
    return ir.ForEach(
        name=action.name,
        items=action.context.value(items),
        body=body,
        item_name="$item",
        concurrency=_concurrency(action),
        shape=texts.bodied(texts.computed("each_last", texts.IT, order.ends)),
    )


def _concurrency(action: Action) -> int:
    is_sequential = "sequential" in text_at(action.fields, "operationOptions").lower()
    if is_sequential or (action.location.is_in_each and action.is_azure):
        return 1
    wanted = action.configuration("concurrency", "repetitions")
    if isinstance(wanted, Scalar) and isinstance(wanted.value, int):
        return max(1, min(wanted.value, CONCURRENCY_MAX))
    return AZURE_CONCURRENCY if action.is_azure else 1


def read_scope(action: Action) -> ir.Node:
    """A block of actions; those of a `parallel` run side by side unless `runAfter` orders them."""
    location = replace(_inside(action), is_parallel=action.type == "parallel")
    part = action.setting("actions", "branches")
    body, order = _read_body(action, part, location, f"{action.name}_action")
    shape = texts.bodied(texts.computed("results_of", texts.IT, {**order.bare}))
    return ir.Group(name=action.name, body=body, shape=shape)


def read_loop(action: Action) -> ir.Node:
    """A loop; the key `condition` or `expression` says whose rules it follows."""
    context, written = action.context, action.setting("condition")
    is_azure = written is None and action.setting("expression") is not None
    condition = action.setting("expression") if is_azure else written
    if condition is None:
        message = f"loop {action.name!r} needs a condition"
        advice = "write \"condition\": \"@equals(variables('status'), 'complete')\""
        context.report("W006", message, action.span, label="no condition", help=advice)
        condition = Scalar(True, action.span)
    alone = f"{action.name}_action"
    own = find(action.fields, "name")
    also = own.value if isinstance(own, Scalar) and isinstance(own.value, str) else action.name
    ends = order_of(context, actions_in(action.setting("actions"), alone)).ends
    names = tuple(dict.fromkeys((action.name, also)))
    loop = EnclosingLoop(names, f"loop:{action.path}", ends)
    location = replace(_inside(action), loops=(*action.location.loops, loop))
    body, _ = _read_body(action, action.setting("actions"), location, alone)
    if not is_azure:
        _warn_of_variables(action, condition)
    shown = condition.text if isinstance(condition, Scalar) else texts.json_text(condition)
    # What the author calls the loop and its condition, for those who look at it run.
    kind = action.type.replace("dountil", "doUntil")
    context.loops[action.path] = {"type": kind, "condition": shown}
    delay = action.setting("delay")
    delay = find(delay, "interval") or delay
    is_failing = not is_azure or "failwhenlimitsreached" in action.options
    failure = ir.IterationFailure("continue", last_counts=True)
    return ir.Loop(
        name=action.name,
        body=body,
        until=_until(action, condition, None if is_azure else body),
        check="between" if is_azure or action.type == "dountil" else "before",
        limits=limits_of(action, is_azure),
        on_limit="finish" if not is_failing else "time_out" if is_azure else "fail",
        words=words.AZURE_LOOP_WORDS if is_azure else words.LOOP_WORDS,
        delay=context.interval(delay) if delay else None,
        on_iteration_failure=failure if is_azure else ir.IterationFailure(),
        facts=tuple((f"{loop.place}:{fact.removesuffix('_at')}", fact) for fact in _FACTS),
        bind=_bound(location, is_azure),
        tells_after=_result(action, ends, body),
        # The result of the last iteration, how many there were, and why they ended.
        shape=texts.fields(
            body=texts.computed("last_of", texts.IT, loop.ends),
            iterations=texts.jinja("it.loop.iterations"),
            exitReason=texts.jinja("it.loop.exit_reason"),
        ),
    )


def _until(action: Action, condition: Value, body: ir.Block | None) -> ir.When:
    """When the loop stops; by the seed's rules not by what a failed action of the body left."""
    context = action.context
    test = context.condition(condition, inverted=action.type == "while")
    inside = {node.name.lower() for _, node in walk(body)} if body is not None else set()
    reads = {
        f"$settled({texts.quote(name)}, {texts.quote(function)})": None
        for scalar in texts.scalars_in(condition)
        for function, name in texts.names_read(scalar.text, "body", "outputs")
        if name.lower() in inside
    }
    if not reads or test.source[1:2] in "@{":
        return ir.When(test)
    try:
        parse(test)
    except LanguageError:
        # It is told as it is written.
        return ir.When(test)
    prefix = f"if(and({', '.join(reads)}), "
    guarded = ir.Expression(test.syntax, f"@{prefix}{test.source[1:]}, false)")
    if isinstance(condition, Scalar) and test.source == condition.text:
        context.places.remember(guarded, condition, -len(prefix))
    else:
        context.places.remember_part(guarded, condition.span)
    return ir.When(guarded, test.source)


def _result(action: Action, ends: list[Json], body: ir.Block) -> tuple[tuple[str, ir.Value], ...]:
    """The result of an iteration, unless the action that gives it keeps it to itself."""
    names = [end[0] for end in ends if isinstance(end, list)]
    last = [node for node in body.nodes if node.name in names]
    if not last or any(is_hidden(node, action.context.workflows) for node in last):
        return ()
    return (("result", texts.computed("own_result", [*ends])),)


def _bound(location: Location, is_azure: bool) -> tuple[tuple[str, ir.Value], ...]:
    indexes: dict[str, ir.Value] = {}
    names: dict[str, ir.Value] = {}
    values: dict[str, ir.Value] = {}
    for loop in location.loops:
        facts = (
            texts.computed("fact", f"{loop.place}:index"),
            texts.computed("last_before", f"{loop.place}:previous", loop.ends),
            texts.computed("fact", f"{loop.place}:number"),
            texts.computed("milliseconds", f"{loop.place}:started"),
        )
        values = dict(zip(words.LOOP_NAMES, facts, strict=True))
        for name in loop.names:
            indexes[name] = texts.computed("fact", f"{loop.place}:latest")
            names |= {f"{name}_{word}": value for word, value in values.items()}
    # The names alone are those of the innermost loop.
    loops = () if is_azure else (("$loop", texts.fields(**names, **values)),)
    return (("$iterations", texts.fields(**indexes)), *loops)


def limits_of(action: Action, is_azure: bool, usual: int = COUNT) -> ir.LoopLimits:
    context = action.context
    limit = action.setting("limit")
    count, time = find(limit, "count"), find(limit, "timeout")
    limits = context.files.limits
    iterations: int | ir.Expression = int(limits.get("iterations", usual))
    time_s: float | ir.Expression = limits.get("time", TIME_S)
    if isinstance(count, Scalar) and texts.is_expression(count):
        iterations = context.expression(count, f"@int({texts.text_term(count.text)})")
    elif isinstance(count, Scalar):
        iterations = _count(action, count, is_azure)
    if isinstance(time, Scalar) and texts.has_expression(time.text):
        time_s = context.expression(time)
    elif time is not None:
        time_s = context.seconds(time, TIME_S)
        if time_s > TIME_MAX_S and not is_azure:
            message = f"Loop timeout exceeds system limit: {TIME_MAX_S * 1_000:.0f}"
            advice = "these are milliseconds; write PT24H or less"
            context.report("W015", message, time.span, label="too long", help=advice)
    return ir.LoopLimits(iterations=iterations, time_s=time_s, interrupts=not is_azure)


def _count(action: Action, count: Scalar, is_azure: bool) -> int:
    value = count.value
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"limit.count of loop {action.name!r} is a whole number of at least 1"
        action.context.report("W007", message, count.span, label="no count", help="write 60")
        return COUNT
    if value > COUNT_MAX and not is_azure:
        message = f"Loop count exceeds system limit: {COUNT_MAX}"
        advice = f"write {COUNT_MAX} or less; nest loops if more are needed"
        action.context.report("W015", message, count.span, label="too many", help=advice)
    return value


def _warn_of_variables(action: Action, condition: Value) -> None:
    """Warns of variables that no action of the loop sets, and of those that end it at once."""
    sources = [scalar.text for scalar in texts.scalars_in(condition)]
    spelled = {name for source in sources for name in texts.variables_read(source)}
    read = {name.lower() for name in spelled}
    if not read or any(map(texts.READS_RESULTS.search, sources)):
        return
    if any(map(words.is_of_a_loop, read)):
        return
    listed = ", ".join(map(repr, sorted(spelled)))
    if not read & set_in(action.setting("actions")):
        message = f"no action of loop {action.name!r} changes {listed}"
        advice = 'set it in the loop: {"type": "setVariable", "name": ..., "value": ...}'
        action.context.warn("W023", message, condition.span, label="never changes", help=advice)
    elif action.type != "dountil" and _is_over_at_start(action, condition, spelled):
        message = f"variable {listed} is null at the start, so loop {action.name!r} ends before "
        message += "its first iteration"
        advice = f"set it before the loop, or with `-i {min(spelled)}=VALUE`"
        advice = "did you mean doUntil? Or " * (action.type == "until") + advice
        action.context.warn("W023", message, condition.span, label="over at once", help=advice)


def _is_over_at_start(action: Action, condition: Value, names: set[str]) -> bool:
    """Whether a loop ends where the variables that only its own actions set are null."""
    inside = Counter(name.lower() for name, _ in variables_in(action.setting("actions")))
    if any(action.context.setters[name.lower()] != inside[name.lower()] for name in names):
        return False
    test = action.context.condition(condition, inverted=action.type == "while")
    scope = MappingScope({"$variables": dict.fromkeys(names), "$loop": {}})
    return evaluate_metered(test, scope, _FUEL)[0] is True


def set_in(value: Value | None) -> set[str]:
    """The variables that actions set, in lower case."""
    return {name.lower() for name, _ in variables_in(value)}
