"""Durations, intervals and retries as definitions have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.durations import AZURE_RETRY, JITTER
from whorl.ir.durations import parse_duration

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here

_UNITS = (("hour", 3_600), ("minute", 60), ("second", 1))
_AZURE_ON = AZURE_RETRY.on
_ANY = ("*",)


def iso(seconds: float) -> str:
    """Seconds as PT5S or PT1H30M."""
    if seconds != int(seconds):
        return f"PT{seconds:.9f}".rstrip("0") + "S"
    left, parts = int(seconds), []
    for mark, size in (("H", 3_600), ("M", 60), ("S", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{mark}")
    return f"PT{''.join(parts) or '0S'}"


def interval(here: Here, value: ir.Value | None) -> Any:
    """How long something waits: a count of units, or an expression."""
    if not isinstance(value, ir.Constant):
        return here.value(value)
    try:
        assert isinstance(value.value, str | int | float)
        seconds = parse_duration(value.value)
    except (ValueError, AssertionError):
        here.lose(f"the duration {value.value!r}", "it is none that the format can read")
        seconds = 0.0
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return {"count": int(seconds // size), "unit": unit}
    return {"count": int(seconds) if seconds == int(seconds) else seconds, "unit": "second"}


def retry_policy(here: Here, retry: ir.Retry | None, usual: ir.Retry | None) -> Any:
    """The policy of an action; None where it is what such actions do anyway."""
    if retry == usual:
        return None
    if retry is None or retry.times == 0:
        return {"type": "none"}
    lenient = here.page.lenient
    on = {} if not lenient or retry.on == _ANY else {"on": list(retry.on)}
    if not lenient and retry.on != _AZURE_ON:
        on = {"httpStatusCodes": list(retry.on)}
    is_known = bool(retry.on) if lenient else True
    if is_known and retry == _fixed(retry) and retry.times > 0:
        return {"type": "fixed", "count": retry.times, "interval": iso(retry.wait_s)} | on
    exponential = _seed(retry) if lenient else _azure(retry)
    if is_known and exponential is not None:
        return {"type": "exponential", "count": retry.times} | exponential | on
    return _plain(here, retry)


def _fixed(retry: ir.Retry) -> ir.Retry:
    return ir.Retry(
        times=retry.times, wait_s=retry.wait_s, backoff=1.0, wait_max_s=retry.wait_s, on=retry.on
    )


def _seed(retry: ir.Retry) -> dict[str, str] | None:
    """The seed's policy, whose waits grow by up to a tenth."""
    if retry.backoff != 2.0 or retry.jitter != JITTER / 2 / (1 + JITTER / 2) or retry.drawn:
        return None
    wait = round(retry.wait_s / (1 + JITTER / 2), 9)
    return {
        "interval": iso(wait),
        "maxInterval": iso(retry.wait_max_s),
        "minimumInterval": iso(retry.wait_min_s),
    }


def _azure(retry: ir.Retry) -> dict[str, str] | None:
    if retry.backoff != 2.0 or not retry.drawn or retry.jitter:
        return None
    return {
        "interval": iso(retry.wait_s),
        "minimumInterval": iso(retry.wait_min_s),
        "maximumInterval": iso(retry.wait_max_s),
    }


def _plain(here: Here, retry: ir.Retry) -> dict[str, Any]:
    """The policy that counts attempts and milliseconds."""
    here.lose_unsaid(retry, ("times", "wait_s", "backoff", "wait_max_s", "on"))
    if not retry.on:
        here.lose("retries of passing faults only", "a policy names its faults, or means all")
    policy: dict[str, Any] = {
        "maxAttempts": retry.times + 1,
        "initialDelay": _milliseconds(retry.wait_s),
        "backoffMultiplier": retry.backoff,
        "maxDelay": _milliseconds(retry.wait_max_s),
    }
    return policy | ({"retryableErrors": list(retry.on)} if retry.on not in ((), _ANY) else {})


def _milliseconds(seconds: float) -> float:
    found = seconds * 1_000
    return int(found) if found == int(found) else found
