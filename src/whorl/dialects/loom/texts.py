"""JSON values with expressions in their strings and keys, conditions, durations and retries."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.forms import find, is_deployed, text_at
from whorl.dialects.loom.words import LIBRARY
from whorl.dialects.reading import called, duration_of, read_tree
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action, LoomContext
    from whorl.language import Json
    from whorl.source import Value

_NAMED = re.compile(
    r"""\b(variables|body|outputs)\(\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")\s*\)""",
    re.IGNORECASE,
)
_READS_INPUTS = re.compile(
    r"""\bresult\(|\[\s*['"]inputs['"]\s*\]|\.inputs\b|\bactions?\([^()]*['"]inputs['"]""",
    re.IGNORECASE,
)
_READS_RESULTS = re.compile(
    r"\b(?:body|outputs|actions|items?|result|action|iterationIndexes|utcNow|rand|guid)\(",
    re.IGNORECASE,
)
_DEPTH_MAX = 40
_UNITS_S = {
    "millisecond": 0.001,
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
}
JITTER = 0.1
_RETRY_TYPES = ("fixed", "exponential", "none", "default")
# Azure retries calls that failed for a passing reason: these statuses, or no reply at all.
_AZURE_ON = ("408", "429", "5xx", "timeout", "P101", "P102", "P103", "P111")
# What it does unless the action says otherwise.
AZURE_RETRY = ir.Retry(
    times=4, wait_s=7.5, backoff=2.0, wait_min_s=5.0, wait_max_s=3_600.0, on=_AZURE_ON, drawn=True
)


def jinja(source: str) -> ir.Expression:
    """An expression of the engine over names that it gives, such as `it`."""
    return ir.Expression("jinja", source, LIBRARY)


IT = jinja("it")


def computed(function: str, *arguments: Json | ir.Expression) -> ir.Expression:
    """The call of a function of this dialect; `it` is given by name, everything else as JSON."""
    written = [a.source if isinstance(a, ir.Expression) else _literal(a) for a in arguments]
    return jinja(called(function, *written))


def _literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def bodied(value: ir.Value) -> ir.Value:
    """Outputs that have nothing but a body."""
    return ir.Fields((("body", value),))


def expression(context: LoomContext, scalar: Scalar, source: str | None = None) -> ir.Expression:
    """The expression of a string of the file; `source` where it is made of the string."""
    syntax = "logic-lenient" if context.lenient else "logic"
    made = ir.Expression(syntax, scalar.text if source is None else source)
    if source is None:
        context.places.remember(made, scalar)
    else:
        context.places.remember_part(made, scalar.span)
    return made


def has_expression(text: str) -> bool:
    """Whether a string is more than a literal."""
    return len(text) > 1 and (text[0] == "@" or "@{" in text)


def is_expression(value: Value | None) -> bool:
    """Whether a value is a string with an expression."""
    return isinstance(value, Scalar) and isinstance(value.value, str) and has_expression(value.text)


def value_of(context: LoomContext, value: Value | None) -> ir.Value:
    """A JSON value whose strings and keys may hold expressions."""

    def read(scalar: Scalar) -> ir.Value:
        text = scalar.value
        if isinstance(text, str) and not context.lenient and is_deployed(text):
            text = context.template.deployed(text)
            is_literal = is_deployed(text) or not has_expression(text)
            return ir.Constant(text) if is_literal else expression(context, scalar, text)
        return expression(context, scalar) if is_expression(scalar) else ir.Constant(text)

    def read_key(key: Scalar) -> str | ir.Expression:
        return expression(context, key) if has_expression(key.text) else key.text

    return read_tree(value, read, read_key=read_key, folds=True)


def names_read(text: str) -> list[str]:
    """The names of the variables that a string reads."""
    return [name for function, name in _named_in(text) if function == "variables"]


def results_read(text: str) -> list[tuple[str, str]]:
    """The names of the actions whose results a string reads, each behind the function."""
    return [named for named in _named_in(text) if named[0] != "variables"]


def _named_in(text: str) -> list[tuple[str, str]]:
    return [
        (function.lower(), single.replace("''", "'") or double.replace('""', '"'))
        for function, single, double in _NAMED.findall(text)
    ]


def reads_more(text: str) -> bool:
    """Whether an expression reads anything that changes by itself, such as results of actions."""
    return _READS_RESULTS.search(text) is not None


def reads_inputs(value: Value | None) -> bool:
    """Whether an expression somewhere in a value reads what actions were given."""
    return any(_READS_INPUTS.search(scalar.text) for scalar in scalars_in(value))


def scalars_in(value: Value | None) -> list[Scalar]:
    """All strings of a value; of its keys those that are expressions."""
    match value:
        case Scalar():
            return [value] if isinstance(value.value, str) else []
        case Sequence():
            return [scalar for item in value for scalar in scalars_in(item)]
        case Mapping():
            scalars = []
            for entry in value:
                if has_expression(entry.name):
                    scalars.append(entry.key)
                scalars.extend(scalars_in(entry.value))
            return scalars
    return []


def as_term(value: Scalar) -> str:
    """A scalar of a file as a part of an expression."""
    return text_term(value.value) if isinstance(value.value, str) else _literal(value.value)


def text_term(text: str) -> str:
    """A string of a file as a part of an expression: literal, expression, or both."""
    if not has_expression(text):
        return quote(text)
    if text.startswith("@@"):
        return quote(text[1:])
    if text[0] == "@" and text[1] != "{":
        return text[1:]
    parts: list[str] = []
    end = 0
    while (start := text.find("@{", end)) >= 0:
        if start > end and text[start - 1] == "@":
            parts.append(quote(text[end : start - 1] + "@{"))
            end = start + 2
            continue
        if start > end:
            parts.append(quote(text[end:start]))
        close = _closing(text, start + 2)
        parts.append(text[start + 2 : close])
        end = close + 1
    if end < len(text):
        parts.append(quote(text[end:]))
    return f"concat({', '.join(parts)})"


def _closing(text: str, start: int) -> int:
    """Where the expression that begins here ends: a brace that stands in no literal."""
    quote = ""
    for index in range(start, len(text)):
        mark = text[index]
        if mark == quote:
            quote = ""
        elif not quote and mark in "'\"":
            quote = mark
        elif not quote and mark == "}":
            return index
    return len(text)


def quote(text: str) -> str:
    """A text as a literal of an expression."""
    return "'" + text.replace("'", "''") + "'"


def condition_of(context: LoomContext, value: Value, *, inverted: bool = False) -> ir.Expression:
    """The expression of a condition; inverted, it is true where the condition is not.

    A condition is a string, or an object of functions: `{"and": [{"equals": ["@a", 1]}]}`.
    """
    if isinstance(value, Scalar):
        text = value.text if isinstance(value.value, str) else f"@{as_term(value)}"
        if text.startswith("@{") and text.endswith("}") and text.find("@{", 2) < 0:
            text = f"@{text[2:-1]}"
        elif not text.startswith("@"):
            text = f"@{text}"
        if inverted:
            return expression(context, value, f"@not({text[1:]})")
        return expression(context, value, None if text == value.text else text)
    term = _condition_term(context, value, 0)
    return expression(context, Scalar("", value.span), f"@not({term})" if inverted else f"@{term}")


def _condition_term(context: LoomContext, value: Value, depth: int) -> str:
    if isinstance(value, Scalar):
        return as_term(value)
    if isinstance(value, Mapping) and len(value) > 0 and depth < _DEPTH_MAX:
        calls = [_condition_call(context, entry.name, entry.value, depth) for entry in value]
        if all(calls):
            return calls[0] if len(calls) == 1 else f"and({', '.join(calls)})"
    if any("@" in scalar.text for scalar in scalars_in(value)) or depth >= _DEPTH_MAX:
        message = "an array or object with expressions cannot stand in a condition"
        label = "not a value of a condition"
        advice = "compute it in a Compose action, and compare its outputs"
        context.report("W007", message, value.span, label=label, help=advice)
    return f"json({quote(json_text(value))})"


def json_text(value: Value) -> str:
    """A value of a file as JSON."""
    return _literal(plain(value))


def _condition_call(context: LoomContext, function: str, value: Value, depth: int) -> str:
    """A call of a function; empty where the value cannot be what a function is given."""
    if isinstance(value, Sequence):
        terms = [_condition_term(context, item, depth + 1) for item in value]
        if not terms:
            return {"and": "true", "or": "false"}.get(function.lower(), f"{function}()")
        return f"{function}({', '.join(terms)})"
    if isinstance(value, Mapping) or function.lower() in ("not", "empty"):
        return f"{function}({_condition_term(context, value, depth + 1)})"
    return ""


def seconds(context: LoomContext, value: Value | None, default: float) -> float:
    """A duration such as PT5S in seconds; reports anything else."""
    duration = duration_of(value)
    if duration is not None or value is None:
        return default if duration is None else duration
    advice = "write PT5S or PT1H"
    context.report("W007", "this is no duration", value.span, label="no duration", help=advice)
    return default


def interval(context: LoomContext, value: Value | None) -> ir.Value | None:
    """An interval `{count, unit}` as seconds."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        if has_expression(value.value):
            return expression(context, value)
        return ir.Constant(seconds(context, value, 0))
    count, unit = find(value, "count"), text_at(value, "unit").lower().rstrip("s") or "second"
    if not isinstance(count, Scalar) or unit not in _UNITS_S:
        span = value.span if value is not None else context.document.root.span
        advice = 'write {"count": 5, "unit": "second"}; units are second, minute, hour, day, week'
        context.report("W007", "this is no interval", span, label="no interval", help=advice)
        return None
    if is_expression(count):
        return expression(context, count, f"@mul(int({text_term(count.text)}), {_UNITS_S[unit]})")
    return ir.Constant(seconds(context, count, 0) * _UNITS_S[unit])


def timeout_of(action: Action) -> float | None:
    """How long an action may take: `limit.timeout`, or `timeout` in milliseconds."""
    if action.type not in ("until", "while", "dountil", "agent"):
        limit = find(action.fields, "limit", "timeout")
        if isinstance(limit, Scalar) and not has_expression(limit.text):
            return seconds(action.context, limit, 0)
    own = find(action.fields, "timeout")
    if isinstance(own, Scalar) and isinstance(own.value, int | float):
        return own.value / 1_000
    return seconds(action.context, own, 0) if own is not None else None


def default_retry(context: LoomContext) -> ir.Retry:
    """What an action that is there to try again does where it does not say how."""
    return _seed_retry(context, Mapping((), context.document.root.span), "exponential")


def retry_of(action: Action) -> ir.Retry | None:
    """How often an action is tried again."""
    # What stands under `inputs` of a compose is its value.
    holders = (action.fields,) if action.type == "compose" else (action.fields, action.inputs)
    policies = (find(holder, name) for holder in holders for name in ("retry", "retryPolicy"))
    policy = next((policy for policy in policies if isinstance(policy, Mapping)), None)
    if policy is None:
        return None
    context = action.context
    kind = text_at(policy, "type").lower() or "exponential"
    if kind not in _RETRY_TYPES:
        span = (find(policy, "type") or policy).span
        message, advice = f"{kind!r} is no kind of retry", "write fixed, exponential or none"
        context.report("W007", message, span, label="unknown kind", help=advice)
        return None
    if kind == "none":
        return ir.Retry(times=0)
    if find(policy, "maxAttempts") is not None or find(policy, "initialDelay") is not None:
        retry = _shipped_retry(policy)
    else:
        retry = (_seed_retry if context.lenient else _azure_retry)(context, policy, kind)
    # How long to wait for a retry that never comes means nothing.
    return retry if retry.times else ir.Retry(times=0)


def _seed_retry(context: LoomContext, policy: Mapping, kind: str) -> ir.Retry:
    wait = seconds(context, find(policy, "interval"), 5.0)
    most = find(policy, "maxInterval") or find(policy, "maximumInterval")
    # The usual least wait shortens no interval; one that is written raises it.
    least = seconds(context, find(policy, "minimumInterval"), min(1.0, wait))
    times = _count(context, policy, 3)
    same = {"timeout": "timeout", "timedout": "timeout"}
    on = tuple(same.get(word.lower(), word) for word in _texts(find(policy, "on"))) or ("*",)
    if kind == "fixed":
        wait = max(wait, least)
        return ir.Retry(times=times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=on)
    return ir.Retry(
        times=times,
        # The seed adds up to a tenth; the engine spreads to both sides of the middle.
        wait_s=wait * (1 + JITTER / 2),
        backoff=2.0,
        wait_max_s=seconds(context, most, 60.0),
        wait_min_s=least,
        jitter=JITTER / 2 / (1 + JITTER / 2),
        on=on,
    )


def _azure_retry(context: LoomContext, policy: Mapping, kind: str) -> ir.Retry:
    if kind == "default":
        return AZURE_RETRY
    wait = seconds(context, find(policy, "interval"), 7.5)
    most = find(policy, "maximumInterval") or find(policy, "maxInterval")
    times = _count(context, policy, 4)
    on = tuple(_texts(find(policy, "httpStatusCodes"))) or _AZURE_ON
    if kind == "fixed":
        return ir.Retry(times=times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=on)
    return ir.Retry(
        times=times,
        wait_s=wait,
        backoff=2.0,
        wait_min_s=seconds(context, find(policy, "minimumInterval"), 5.0),
        wait_max_s=seconds(context, most, 86_400.0),
        on=on,
        drawn=True,
    )


def _shipped_retry(policy: Mapping) -> ir.Retry:
    """The policy of the public system: attempts in all, and milliseconds."""

    def number(name: str, default: float) -> float:
        value = find(policy, name)
        is_number = isinstance(value, Scalar) and isinstance(value.value, int | float)
        return value.value if is_number else default  # type: ignore[union-attr,return-value]

    return ir.Retry(
        times=max(0, int(number("maxAttempts", 3)) - 1),
        wait_s=number("initialDelay", 1_000) / 1_000,
        backoff=number("backoffMultiplier", 2),
        wait_max_s=number("maxDelay", 30_000) / 1_000,
        on=tuple(_texts(find(policy, "retryableErrors"))) or ("*",),
    )


def _count(context: LoomContext, policy: Mapping, default: int) -> int:
    count = find(policy, "count")
    if count is None:
        return default
    if isinstance(count, Scalar) and isinstance(count.value, int) and 0 <= count.value <= 1_000:
        return count.value
    message = "count of a retry is a whole number up to 1000"
    context.report("W007", message, count.span, label="no count")
    return default


def _texts(value: Value | None) -> list[str]:
    if isinstance(value, Scalar):
        return [value.text]
    return [item.text for item in value or () if isinstance(item, Scalar)]
