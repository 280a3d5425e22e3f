"""Durations, intervals and retry policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.texts import expression, has_expression, text_term
from whorl.ir.durations import parse_duration
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action
    from whorl.dialects.loom.draft import Draft
    from whorl.source import Value

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
    times=4,
    wait_s=7.5,
    backoff=2.0,
    wait_min_s=5.0,
    wait_max_s=3_600.0,
    on=_AZURE_ON,
    drawn=True,
)


def seconds(draft: Draft, value: Value | None, default: float) -> float:
    """A duration such as PT5S in seconds; reports anything else."""
    if value is None:
        return default
    try:
        if isinstance(value, Scalar) and isinstance(value.value, str):
            return parse_duration(value.value)
        if isinstance(value, Scalar) and isinstance(value.value, int | float):
            return parse_duration(value.value)
    except ValueError:
        pass
    draft.report(
        "W007", "this is no duration", value.span, label="no duration", help="write PT5S or PT1H"
    )
    return default


def interval(draft: Draft, value: Value | None) -> ir.Value | None:
    """An interval `{count, unit}` as seconds."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        if has_expression(value.value):
            return expression(draft, value)
        return ir.Constant(seconds(draft, value, 0))
    count, unit = find(value, "count"), text_at(value, "unit").lower().rstrip("s") or "second"
    if not isinstance(count, Scalar) or unit not in _UNITS_S:
        span = value.span if value is not None else draft.document.root.span
        advice = 'write {"count": 5, "unit": "second"}; units are second, minute, hour, day, week'
        draft.report("W007", "this is no interval", span, label="no interval", help=advice)
        return None
    if isinstance(count.value, str) and has_expression(count.value):
        term = text_term(count.value)
        return expression(draft, count, f"@mul(int({term}), {_UNITS_S[unit]})")
    return ir.Constant(seconds(draft, count, 0) * _UNITS_S[unit])


def timeout_of(action: Action) -> float | None:
    """How long an action may take: `limit.timeout`, or `timeout` in milliseconds."""
    if action.type not in ("until", "while", "dountil", "agent"):
        limit = find_deep(action.fields, "limit", "timeout")
        if isinstance(limit, Scalar) and not has_expression(limit.text):
            return seconds(action.draft, limit, 0)
    own = find(action.fields, "timeout")
    if isinstance(own, Scalar) and isinstance(own.value, int | float):
        return own.value / 1_000
    return seconds(action.draft, own, 0) if own is not None else None


def default_retry(draft: Draft) -> ir.Retry:
    """What an action that is there to try again does where it does not say how."""
    return _seed(draft, Mapping((), draft.document.root.span), "exponential")


def retry_of(action: Action) -> ir.Retry | None:
    """How often an action is tried again."""
    names = ("retry", "retryPolicy")
    # What stands under `inputs` of a compose is its value.
    holders = (action.fields,) if action.type == "compose" else (action.fields, action.inputs)
    found = (find(holder, name) for holder in holders for name in names)
    policy = next((one for one in found if isinstance(one, Mapping)), None)
    if policy is None:
        return None
    draft = action.draft
    kind = text_at(policy, "type").lower() or "exponential"
    if kind not in _RETRY_TYPES:
        place = find(policy, "type")
        draft.report(
            "W007",
            f"{kind!r} is no kind of retry",
            place.span if place is not None else policy.span,
            label="unknown kind",
            help="write fixed, exponential or none",
        )
        return None
    read = ir.Retry(times=0) if kind == "none" else _read_policy(draft, policy, kind)
    # How long to wait for a retry that never comes means nothing.
    return read if read.times else ir.Retry(times=0)


def _read_policy(draft: Draft, policy: Mapping, kind: str) -> ir.Retry:
    if find(policy, "maxAttempts") is not None or find(policy, "initialDelay") is not None:
        return _shipped(policy)
    return _seed(draft, policy, kind) if draft.lenient else _azure(draft, policy, kind)


def _seed(draft: Draft, policy: Mapping, kind: str) -> ir.Retry:
    wait = seconds(draft, find(policy, "interval"), 5.0)
    most = find(policy, "maxInterval") or find(policy, "maximumInterval")
    # The usual least wait shortens no interval; one that is written raises it.
    least = seconds(draft, find(policy, "minimumInterval"), min(1.0, wait))
    if kind == "fixed":
        wait = max(wait, least)
        return ir.Retry(
            times=_count(draft, policy, 3),
            wait_s=wait,
            backoff=1.0,
            wait_max_s=wait,
            on=_on(policy),
        )
    return ir.Retry(
        times=_count(draft, policy, 3),
        # The seed adds up to a tenth; the engine spreads to both sides of the middle.
        wait_s=wait * (1 + JITTER / 2),
        backoff=2.0,
        wait_max_s=seconds(draft, most, 60.0),
        wait_min_s=least,
        jitter=JITTER / 2 / (1 + JITTER / 2),
        on=_on(policy),
    )


def _azure(draft: Draft, policy: Mapping, kind: str) -> ir.Retry:
    if kind == "default":
        return AZURE_RETRY
    wait = seconds(draft, find(policy, "interval"), 7.5)
    most = find(policy, "maximumInterval") or find(policy, "maxInterval")
    times = _count(draft, policy, 4)
    on = tuple(_texts(find(policy, "httpStatusCodes"))) or _AZURE_ON
    if kind == "fixed":
        return ir.Retry(times=times, wait_s=wait, backoff=1.0, wait_max_s=wait, on=on)
    return ir.Retry(
        times=times,
        wait_s=wait,
        backoff=2.0,
        wait_min_s=seconds(draft, find(policy, "minimumInterval"), 5.0),
        wait_max_s=seconds(draft, most, 86_400.0),
        on=on,
        drawn=True,
    )


def _shipped(policy: Mapping) -> ir.Retry:
    """The policy of the public system: attempts in all, and milliseconds."""
    return ir.Retry(
        times=max(0, int(_number(policy, "maxAttempts", 3)) - 1),
        wait_s=_number(policy, "initialDelay", 1_000) / 1_000,
        backoff=_number(policy, "backoffMultiplier", 2),
        wait_max_s=_number(policy, "maxDelay", 30_000) / 1_000,
        on=tuple(_texts(find(policy, "retryableErrors"))) or ("*",),
    )


def _number(policy: Mapping, name: str, default: float) -> float:
    found = find(policy, name)
    if isinstance(found, Scalar) and isinstance(found.value, int | float):
        return found.value
    return default


def _count(draft: Draft, policy: Mapping, default: int) -> int:
    found = find(policy, "count")
    if found is None:
        return default
    if isinstance(found, Scalar) and isinstance(found.value, int) and 0 <= found.value <= 1_000:
        return found.value
    draft.report(
        "W007", "count of a retry is a whole number up to 1000", found.span, label="no count"
    )
    return default


def _on(policy: Mapping) -> tuple[str, ...]:
    words = _texts(find(policy, "on"))
    known = {"timeout": "timeout", "timedout": "timeout"}
    return tuple(known.get(word.lower(), word) for word in words) or ("*",)


def _texts(value: Value | None) -> list[str]:
    if isinstance(value, Scalar):
        return [value.text]
    if not isinstance(value, Sequence):
        return []
    return [item.text for item in value if isinstance(item, Scalar)]
