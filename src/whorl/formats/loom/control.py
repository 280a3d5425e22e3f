"""Actions that control or compute: branches, loops and scopes, variables, data, answers.

Loops are `until`, `while` and `doUntil` by the seed's rules, and Azure's `Until` by Azure's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.dialects.reading.fields import text_of
from whorl.errors import Span, did_you_mean
from whorl.formats.loom import forms
from whorl.formats.loom.action import EnclosingLoop, order_of
from whorl.formats.loom.forms import SETTING, find, find_mapping, text_at
from whorl.ir.walk import is_hidden, walk
from whorl.language import MappingScope, evaluate_metered
from whorl.source import Entry, Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.loom.action import Action, Location, Order
    from whorl.ir.nodes import Fact
    from whorl.language import Json
    from whorl.source import Value

AZURE_CONCURRENCY = 20
COUNT, COUNT_MAX = 60, 1_000
TIME_S, TIME_MAX_S = 3_600.0, 86_400.0
_FUEL = 10_000
# The facts that a loop gives to its actions, at its place.
_FACTS: tuple[Fact, ...] = ("index", "latest", "number", "previous", "started_at")


def actions_in(part: Value | None, alone: str) -> Mapping:
    """Returns the actions of a part: under `actions`, written directly, or a single unnamed one."""
    if not isinstance(part, Mapping):
        return Mapping((), part.span if part is not None else Span("", 1, 1))
    if isinstance(find(part, "type"), Scalar):
        # The name of an action that sets a variable is the variable's.
        sets = "variable" in text_at(part, "type").lower()
        name = "" if sets else text_at(part, "name")
        return Mapping((Entry(Scalar(name or alone, part.span), part),), part.span)
    if (inner := find_mapping(part, "actions")) is not None:
        return inner
    is_block = all(isinstance(entry.value, Mapping) for entry in part)
    return part if is_block else Mapping((), part.span)


def _read_body(
    action: Action, part: Value | None, location: Location, alone: str
) -> tuple[ir.Block, Order]:
    """Returns the actions of a part, with their order."""
    actions = actions_in(part, alone)
    order = order_of(action.context, actions, parallel=location.is_parallel)
    action.context.scopes.setdefault(action.name, []).extend(entry.name for entry in actions)
    return location.read_block(action.context, actions, order, location), order


def _read_case(
    action: Action, part: Value | None, name: str, slot: str, alone: str
) -> tuple[ir.Case, list[Json]]:
    """Returns a case of a branch, and the last actions of the case."""
    location = replace(action.inside, path=f"{action.path}@{slot}")
    body, order = _read_body(action, part, location, alone)
    return ir.Case(name, body), order.ends


def read_if(action: Action) -> ir.Node:
    condition = action.setting("condition", "expression")
    yes, no = action.setting("actions", "then"), action.setting("else")
    condition = Scalar(False, action.span) if condition is None else condition
    then, then_ends = _read_case(action, yes, "true", "case.true", f"{action.name}_then")
    other, other_ends = _read_case(action, no, "false", "default", f"{action.name}_else")
    taken = forms.computed("taken_of", forms.IT, {"true": then_ends, "false": other_ends})
    return ir.Branch(
        name=action.name,
        cases=(replace(then, when=action.context.condition(condition)),),
        default=other,
        shape=forms.fields(body=taken),
    )


def read_switch(action: Action) -> ir.Node:
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
            action.context.check_spelling(entry.value, forms.OBJECT_FIELDS["case"], owner)
        is_stated = isinstance(wanted, Scalar) and not isinstance(kind, Scalar)
        value = ir.Constant(wanted.value if is_stated else name)  # type: ignore[union-attr]
        cases.append(replace(case, equals=value))
    other: ir.Case | None = None
    if default is not None:
        alone = f"{action.name}_default"
        other, ends["default"] = _read_case(action, default, "default", "default", alone)
    shape = forms.fields(body=forms.computed("taken_of", forms.IT, ends))
    subject, listed = action.value("on", "expression"), tuple(cases)
    return ir.Branch(name=action.name, subject=subject, cases=listed, default=other, shape=shape)


def read_foreach(action: Action) -> ir.Node:
    location = replace(action.inside, is_in_each=True)
    body, order = _read_body(action, action.setting("actions"), location, f"{action.name}_item")
    wanted = action.configuration("concurrency", "repetitions")
    count = AZURE_CONCURRENCY if action.is_azure else 1
    is_sequential = "sequential" in text_at(action.fields, "operationOptions").lower()
    if is_sequential or (action.location.is_in_each and action.is_azure):
        count = 1
    elif isinstance(wanted, Scalar) and isinstance(wanted.value, int):
        count = max(1, min(wanted.value, 50))
    return ir.ForEach(
        name=action.name,
        items=action.value("foreach", "items"),
        body=body,
        item_name="$item",
        concurrency=count,
        shape=forms.fields(body=forms.computed("each_last", forms.IT, order.ends)),
    )


def read_scope(action: Action) -> ir.Node:
    """Reads a block of actions; those of a `parallel` run together unless `runAfter` orders it."""
    location = replace(action.inside, is_parallel=action.type == "parallel")
    part = action.setting("actions", "branches")
    body, order = _read_body(action, part, location, f"{action.name}_action")
    shape = forms.fields(body=forms.computed("results_of", forms.IT, {**order.bare}))
    return ir.Group(name=action.name, body=body, shape=shape)


def read_loop(action: Action) -> ir.Node:
    """Reads a loop; the key `condition` or `expression` decides which system's rules apply."""
    context, written = action.context, action.setting("condition")
    is_azure = written is None and action.setting("expression") is not None
    condition = action.setting("expression") if is_azure else written
    if condition is None:
        advice = "write \"condition\": \"@equals(variables('status'), 'complete')\""
        message = f"loop {action.name!r} needs a condition"
        context.report("W006", message, action.span, label="no condition", help=advice)
        condition = Scalar(True, action.span)
    alone = f"{action.name}_action"
    ends = order_of(context, actions_in(action.setting("actions"), alone)).ends
    known_as = dict.fromkeys((action.name, text_at(action.fields, "name") or action.name))
    loop = EnclosingLoop(tuple(known_as), f"loop:{action.path}", ends)
    location = replace(action.inside, loops=(*action.location.loops, loop))
    body, _ = _read_body(action, action.setting("actions"), location, alone)
    if not is_azure:
        _warn_of_variables(action, condition)
    shown = condition.text if isinstance(condition, Scalar) else forms.literal(plain(condition))
    # The author's names of the loop and its condition, for those who watch it run.
    kind = action.type.replace("dountil", "doUntil")
    context.loops[action.path] = {"type": kind, "condition": shown}
    delay = action.setting("delay")
    delay = find(delay, "interval") or delay
    # The result of an iteration is shown, unless the action that gives it is secure.
    names = [end[0] for end in ends if isinstance(end, list)]
    last = [node for node in body.nodes if node.name in names]
    is_shown = last and not any(is_hidden(node, context.workflows) for node in last)
    result = (("result", forms.computed("own_result", [*ends])),)
    is_failing = not is_azure or "failwhenlimitsreached" in action.options
    failure = ir.IterationFailure("continue", last_counts=True)
    return ir.Loop(
        name=action.name,
        body=body,
        until=_until(action, condition, None if is_azure else body),
        check="between" if is_azure or action.type == "dountil" else "before",
        limits=limits_of(action, is_azure),
        on_limit="finish" if not is_failing else "time_out" if is_azure else "fail",
        words=forms.AZURE_LOOP_WORDS if is_azure else forms.LOOP_WORDS,
        delay=context.interval(delay) if delay else None,
        on_iteration_failure=failure if is_azure else ir.IterationFailure(),
        facts=tuple((f"{loop.place}:{fact.removesuffix('_at')}", fact) for fact in _FACTS),
        bind=_bound(location, is_azure),
        tells_after=result if is_shown else (),
        # The result of the last iteration, how many there were, and why they ended.
        shape=forms.fields(
            body=forms.computed("last_of", forms.IT, loop.ends),
            iterations=forms.jinja("it.loop.iterations"),
            exitReason=forms.jinja("it.loop.exit_reason"),
        ),
    )


def _until(action: Action, condition: Value, body: ir.Block | None) -> ir.When:
    """Returns when the loop stops; by the seed's rules results of failed actions do not count."""
    context = action.context
    test = context.condition(condition, inverted=action.type == "while")
    inside = {node.name.lower() for _, node in walk(body)} if body is not None else set()
    reads = {
        f"$settled({forms.quote(name)}, {forms.quote(function)})": None
        for scalar in forms.scalars_in(condition)
        for function, name in forms.names_read(scalar.text, "body", "outputs")
        if name.lower() in inside
    }
    # A mistake is reported as it is written.
    if not reads or test.source[1:2] in "@{" or not forms.parses(test):
        return ir.When(test)
    prefix = f"if(and({', '.join(reads)}), "
    guarded = ir.Expression(test.syntax, f"@{prefix}{test.source[1:]}, false)")
    if isinstance(condition, Scalar) and test.source == condition.text:
        context.places.remember(guarded, condition, -len(prefix))
    else:
        context.places.remember_part(guarded, condition.span)
    return ir.When(guarded, test.source)


def _bound(location: Location, is_azure: bool) -> tuple[tuple[str, ir.Value], ...]:
    indexes: dict[str, ir.Value] = {}
    names: dict[str, ir.Value] = {}
    values: dict[str, ir.Value] = {}
    for loop in location.loops:
        facts = (
            forms.computed("fact", f"{loop.place}:index"),
            forms.computed("last_before", f"{loop.place}:previous", loop.ends),
            forms.computed("fact", f"{loop.place}:number"),
            forms.computed("milliseconds", f"{loop.place}:started"),
        )
        values = dict(zip(forms.LOOP_NAMES, facts, strict=True))
        for name in loop.names:
            indexes[name] = forms.computed("fact", f"{loop.place}:latest")
            names |= {f"{name}_{word}": value for word, value in values.items()}
    # The names alone are those of the innermost loop.
    loops = () if is_azure else (("$loop", forms.fields(**names, **values)),)
    return (("$iterations", forms.fields(**indexes)), *loops)


def limits_of(action: Action, is_azure: bool, usual: int = COUNT) -> ir.LoopLimits:
    context = action.context
    limit = action.setting("limit")
    count, time = find(limit, "count"), find(limit, "timeout")
    limits = context.files.limits
    iterations: int | ir.Expression = int(limits.get("iterations", usual))
    time_s: float | ir.Expression = limits.get("time", TIME_S)
    if isinstance(count, Scalar) and forms.is_expression(count):
        iterations = context.expression(count, f"@int({forms.text_term(count.text)})")
    elif isinstance(count, Scalar):
        value = int(count.text) if count.text.strip().isdecimal() else 0
        iterations = value or COUNT
        if value < 1:
            message = f"limit.count of loop {action.name!r} must be a whole number of at least 1"
            context.report("W007", message, count.span, label="not a valid count", help="write 60")
        elif value > COUNT_MAX and not is_azure:
            message = f"Loop count exceeds system limit: {COUNT_MAX}"
            advice = f"write {COUNT_MAX} or less; nest loops if more are needed"
            context.report("W007", message, count.span, label="too many", help=advice)
    if isinstance(time, Scalar) and forms.has_expression(time.text):
        time_s = context.expression(time)
    elif time is not None:
        time_s = context.seconds(time, TIME_S)
        if time_s > TIME_MAX_S and not is_azure:
            message = f"Loop timeout exceeds system limit: {TIME_MAX_S * 1_000:.0f}"
            advice = "these are milliseconds; write PT24H or less"
            context.report("W007", message, time.span, label="too long", help=advice)
    return ir.LoopLimits(iterations=iterations, time_s=time_s, interrupts=not is_azure)


def _warn_of_variables(action: Action, condition: Value) -> None:
    """Warns of variables that no action of the loop sets, and of those that end it at once."""
    sources = [scalar.text for scalar in forms.scalars_in(condition)]
    spelled = {name for text in sources for _, name in forms.names_read(text, "variables")}
    read = {name.lower() for name in spelled}
    is_fixed = not any(map(forms.READS_RESULTS.search, sources))
    if not read or not is_fixed or any(map(forms.is_of_a_loop, read)):
        return
    listed = ", ".join(map(repr, sorted(spelled)))
    if not read & {name.lower() for name, _ in variables_in(action.setting("actions"))}:
        message = f"no action of loop {action.name!r} changes {listed}"
        advice = 'set it in the loop: {"type": "setVariable", "name": ..., "value": ...}'
        action.context.warn("W023", message, condition.span, label="never changes", help=advice)
    elif action.type != "dountil" and _is_over_at_start(action, condition, spelled):
        message = f"variable {listed} is null at the start, so loop {action.name!r} ends before "
        message += "its first iteration"
        advice = f"set it before the loop, or with `-i {min(spelled)}=VALUE`"
        advice = "did you mean doUntil? Or " * (action.type == "until") + advice
        action.context.warn("W023", message, condition.span, label="ends at once", help=advice)


def _is_over_at_start(action: Action, condition: Value, names: set[str]) -> bool:
    """Returns whether a loop ends if the variables that only its own actions set are null."""
    inside = Counter(name.lower() for name, _ in variables_in(action.setting("actions")))
    if any(action.context.setters[name.lower()] != inside[name.lower()] for name in names):
        return False
    test = action.context.condition(condition, inverted=action.type == "while")
    scope = MappingScope({"$variables": dict.fromkeys(names), "$loop": {}})
    return evaluate_metered(test, scope, _FUEL)[0] is True


_End = Literal["succeeded", "failed", "cancelled"]
_ENDS: dict[str, _End] = {"failed": "failed", "succeeded": "succeeded", "cancelled": "cancelled"}
_ENDS["canceled"] = "cancelled"
# The kinds of an action that computes a time: its function, and the settings that it hands to it.
_TIMES = {
    "currenttime": "utcNow",
    "converttimezone": "convertTimeZone baseTime sourceTimeZone destinationTimeZone formatString",
    "addtotime": "addToTime baseTime interval timeUnit",
    "subtractfromtime": "subtractFromTime baseTime interval timeUnit",
    "getpasttime": "getPastTime interval timeUnit",
    "getfuturetime": "getFutureTime interval timeUnit",
    "indexof": "indexOf text searchText",
    "substring": "substring text startPosition length",
}
# The types of variables, each with its values and the first one of a variable that has none.
_TYPES: dict[str, tuple[type, Json]] = {"string": (str, ""), "array": (list, [])}
_TYPES |= {"integer": (int, 0), "float": (float, 0.0), "boolean": (bool, False)}
_TYPES["object"] = (dict, None)
_SAME_TYPES = {"int": "integer", "bool": "boolean"}
Variable = tuple["Value", str, str]
Operation = Literal["set", "append", "join", "add"]
_OPERATIONS: dict[str, Operation] = {"setvariable": "set", "appendtoarrayvariable": "append"}
_OPERATIONS |= {"incrementvariable": "add", "decrementvariable": "add"}
_OPERATIONS["appendtostringvariable"] = "join"


def read_wait(action: Action) -> ir.Node:
    until = find(action.setting("until"), "timestamp")
    if until is not None:
        return ir.Wait(name=action.name, until=action.context.value(until))
    duration = action.context.interval(action.setting("interval") or action.inputs)
    return ir.Wait(name=action.name, duration=duration or ir.Constant(0))


def read_terminate(action: Action) -> ir.Node:
    """Ends the run; if another workflow called this one, the caller continues."""
    error, written = action.setting("runError"), action.setting("runStatus")
    status = _ENDS.get(text_of(written).strip().lower() or "failed")
    if status is None:
        message = f"{text_of(written)[:60]!r} is not a status that a run can end with"
        advice = "write Succeeded, Failed or Cancelled"
        span = (written or action.fields).span
        action.context.report("W007", message, span, label="unknown status", help=advice)
    code, message_ = (action.context.value(find(error, name)) for name in ("code", "message"))
    return ir.Stop(
        name=action.name, status=status or "failed", message=message_, code=code, ends="workflow"
    )


def read_response(action: Action) -> ir.Node:
    """Answers the caller of the run; the first answer is the run's output."""
    action.context.responses.append(action.name)
    written = {name: find(action.inputs, name) for name in ("statusCode", "headers", "body")}
    entries = [(k, action.context.value(v)) for k, v in written.items() if v is not None]
    action.context.sends_headers |= written["headers"] is not None
    others = [name for name in action.context.answering if name != action.name]
    shape = forms.computed("answered_once", forms.IT, [*others]) if others else None
    return ir.Compute(name=action.name, value=ir.Fields(tuple(entries)), shape=shape)


def read_operation(action: Action) -> ir.Node:
    """Reads an operation on data: its expression, its items, and the use of the result."""
    over: ir.Value | None = None
    keep: ir.Expression | None = None
    become: ir.Value = forms.IT
    value: ir.Value = _expression(action, "@item()")
    given = {
        "parsejson": ("content schema", "checked_content"),
        "join": ("from joinWith", "joined"),
    }.get(action.type)
    if given is not None:
        value = ir.Fields(tuple((name, action.value(name)) for name in given[0].split()))
        become = forms.computed(given[1], forms.IT)
    elif action.type == "select":
        value, over = action.value("select"), action.value("from")
    elif action.type == "query":
        where = action.setting("where")
        where = where if isinstance(where, Scalar) else Scalar("@true", action.span)
        over, keep = action.value("from"), action.context.expression(where)
    else:
        columns = action.setting("columns")
        if isinstance(columns, Sequence):
            pairs = ((text_at(each, "header"), find(each, "value")) for each in columns)
            value = ir.Fields(tuple((name, action.context.value(cell)) for name, cell in pairs))
        form = "CSV" if text_of(action.setting("format")).upper() == "CSV" else "HTML"
        become = forms.jinja(f'table_of({{"rows": it, "format": "{form}"}})')
        over = action.value("from")
    shape = forms.fields(body=become)
    return ir.Compute(name=action.name, value=value, over=over, keep=keep, shape=shape)


def read_time(action: Action) -> ir.Node:
    call = _TIMES.get(text_at(action.fields, "kind").lower())
    if call is None:
        message = f"{action.name!r} has an unknown kind"
        advice = f"the kinds are {', '.join(_TIMES)}"
        action.context.report("W009", message, action.span, label="unknown kind", help=advice)
        return action.nothing()
    function, *names = call.split()
    given = [action.setting(name) for name in names]
    terms = ", ".join(forms.as_term(value) for value in given if isinstance(value, Scalar))
    source = f"@{function}({terms})"
    return ir.Compute(name=action.name, value=forms.fields(body=_expression(action, source)))


def _expression(action: Action, source: str) -> ir.Expression:
    """Returns an expression, evaluated at the place of the action."""
    return action.context.expression(Scalar("", action.span), source)


def declared(variables: Value | None) -> list[Variable]:
    """Returns the variables of a list, each with its name and its type ("" if unknown)."""
    found: list[Variable] = []
    for item in variables if isinstance(variables, Sequence) else ():
        kind = text_at(item, "type").lower()
        kind = _SAME_TYPES.get(kind, kind)
        if name := text_at(item, "name"):
            found.append((item, name, kind if kind in _TYPES else ""))
    return found


def variables_in(value: Value | None) -> Iterator[tuple[str, str | None]]:
    """Yields the variables that actions of a value set or declare; declared ones have types."""
    for _, part in forms.objects_in(value):
        kind = text_at(part, "type").lower()
        if kind == "initializevariable":
            variables = find(part, "inputs", "variables") or find(part, "variables")
            yield from ((name, written) for _, name, written in declared(variables))
        elif kind in SETTING:
            yield variable_set(part), None


def variable_set(action: Mapping) -> str:
    name = text_at(action, "inputs", "name")
    return name or text_at(action, "variableName") or text_at(action, "name")


def read_initialize(action: Action) -> ir.Node:
    action.context.declaring.add(action.name)
    sets: list[tuple[str, ir.Value]] = []
    for item, name, kind in declared(action.setting("variables")):
        value, written = find(item, "value"), find(item, "type")
        if written is not None and not kind:
            message = f"variable {name!r} has the unknown type {text_of(written)[:60]!r}"
            advice = did_you_mean(text_of(written), _TYPES) or f"the types are {', '.join(_TYPES)}"
            action.context.report("W009", message, written.span, label="unknown type", help=advice)
        given = action.context.value(value)
        if given == ir.Constant(None) and kind:
            given = ir.Constant(_TYPES[kind][1])
        elif kind:
            given = _typed(action, name, value, given)
        sets.append((action.context.variable(name), given))
    return _assign(action, sets, "set")


def read_set(action: Action) -> ir.Node:
    """Sets, increments or appends to a variable."""
    context, operation = action.context, _OPERATIONS[action.type]
    name, value = context.variable(variable_set(action.fields)), action.setting("value")
    if operation == "add" and value is None:
        value = Scalar(1, action.span)
    given = context.value(value)
    place = value if isinstance(value, Scalar) else Scalar("", action.span)
    if operation == "join" and isinstance(value, Scalar) and forms.is_expression(value):
        # A value that is appended to a text is printed by the rules of `@{}`.
        given = context.expression(value, f"@string({forms.text_term(value.text)})")
    elif operation in ("add", "set"):
        given = _typed(action, name, value, given)
    if action.type == "decrementvariable":
        is_made = isinstance(given, ir.Expression) and given.source[:2] == "@$"
        term = given.source[1:] if is_made else _term(value)  # type: ignore[union-attr]
        given = context.expression(place, f"@sub(0, {term})")
    if action.is_azure and name.lower() not in context.types:
        # In Azure's files a variable is declared before it is set, or given to the run.
        given = context.expression(place, f"@$declared({forms.quote(name)}, {_term(value)})")
    return _assign(action, [(name, given)], operation)


def _typed(action: Action, name: str, value: Value | None, given: ir.Value) -> ir.Value:
    """Returns a value, with a check of the variable's type if it is unknown before the run."""
    context = action.context
    kind = context.types.get(name.lower(), "")
    if not kind or value is None:
        return given
    if isinstance(given, ir.Constant):
        is_typed = type(given.value) is _TYPES[kind][0] or (context.lenient and given.value is None)
    else:
        is_typed = (kind, type(given)) in (("array", ir.Items), ("object", ir.Fields))
    if is_typed:
        return given
    check = "$typedOrNull" if context.lenient else "$typed"
    place = value if isinstance(value, Scalar) else Scalar("", value.span)
    source = f"@{check}({forms.quote(name)}, {forms.quote(kind)}, {_term(value)})"
    return context.expression(place, source)


def _term(value: Value | None) -> str:
    if not isinstance(value, Sequence | Mapping):
        return "null" if value is None else forms.as_term(value)
    # Only its type counts: what is inside is of no interest to a variable of another type.
    return "json('[]')" if isinstance(value, Sequence) else "json('{}')"


def _assign(action: Action, sets: list[tuple[str, ir.Value]], operation: Operation) -> ir.Node:
    """Returns the node; its result is the variable's name and value, or the appended item.

    The whole array would otherwise be stored each time that a loop appends an item.
    """
    shape = forms.fields(body=forms.IT)
    if len(sets) == 1:
        name = sets[0][0]
        last: tuple[str, Json] = ("last_of", [[name, True]])
        function, given = ("appended", name) if operation == "append" else last
        value = forms.computed(function, forms.IT, given)
        shape = forms.fields(body=forms.fields(name=name, value=value))
    return ir.Assign(name=action.name, sets=tuple(sets), operation=operation, shape=shape)
