"""The fields that every step has: its order, its condition, its retries, its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, cast

from whorl import ir
from whorl.dialects.native.format.pieces import STATUSES
from whorl.dialects.native.scalars import duration_of, number_of, text_of, texts_of, whole_of
from whorl.dialects.native.values import read_expression
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.ir.nodes import Wanted
    from whorl.source import Value

_ANY = ("succeeded", "failed", "skipped", "timed_out", "cancelled")


class Common(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    after: tuple[ir.After, ...]
    when: ir.Expression | None
    on_failure: Literal["halt", "continue"]
    retry: ir.Retry | None
    timeout_s: float | None
    place: str
    description: str


def read_common(draft: Draft, step: Step, previous: str | None) -> Common:
    """Reads the fields that every step has; without `after` it waits for the step before it."""
    span = step.key.span
    after = step.get("after")
    failure = step.get("on_failure")
    _check_retries(draft, step)
    timeout = step.get("timeout")
    if timeout is not None:
        draft.places.remember_field(step.path, "timeout", timeout.span)
    return {
        "name": step.name,
        "after": _default_order(previous) if after is None else _read_after(draft, after),
        # The condition of an if step chooses its branch; it does not skip the step.
        "when": None if step.kind == "if" else read_expression(draft, step.get("if")),
        "on_failure": "continue" if _says(failure, "continue") else "halt",
        "retry": _read_retry(step.get("retry")) or _retry_on_failure(failure),
        "timeout_s": duration_of(timeout),
        "place": f"{span.line}:{span.column}",
        "description": text_of(step.get("description")) or "",
    }


def _check_retries(draft: Draft, step: Step) -> None:
    """Two fields say how often a step is tried again; only one of them can be meant."""
    failure = step.fields.entry("on_failure")
    if failure is None or not isinstance(failure.value, Mapping) or "retry" not in step.fields:
        return
    draft.report(
        "W007",
        f"step {step.name!r} has 'retry' and 'on_failure: {{retry: ...}}', but takes one of them",
        failure.key.span,
        label="retried in two ways",
        help="keep 'retry', which can also say `wait`, `backoff` and `on`",
    )


def _default_order(previous: str | None) -> tuple[ir.After, ...]:
    return () if previous is None else (ir.After(previous),)


def _read_after(draft: Draft, value: Value) -> tuple[ir.After, ...]:
    if isinstance(value, Mapping):
        pairs = [(entry.key, _statuses(entry.value)) for entry in value]
    elif isinstance(value, Sequence):
        scalars = [item for item in value if isinstance(item, Scalar)]
        pairs = [(item, _statuses(None)) for item in scalars]
    else:
        pairs = [(value, _statuses(None))]
    found: dict[str, ir.After] = {}
    for scalar, statuses in pairs:
        after = ir.After(scalar.text, statuses)
        draft.places.remember_part(after, scalar.span)
        found[scalar.text] = after
    return tuple(found.values())


def _statuses(value: Value | None) -> tuple[Wanted, ...]:
    words = [word for word in texts_of(value) if word in STATUSES]
    wanted = [status for word in words for status in (_ANY if word == "any" else (word,))]
    return cast("tuple[Wanted, ...]", tuple(dict.fromkeys(wanted)) or ("passed",))


def _read_retry(value: Value | None) -> ir.Retry | None:
    if not isinstance(value, Mapping):
        times = whole_of(value)
        return None if times is None else ir.Retry(times)
    times = whole_of(value.get("times"))
    if times is None:
        return None
    wait, longest = duration_of(value.get("wait")), duration_of(value.get("wait_max"))
    backoff = number_of(value.get("backoff"))
    return ir.Retry(
        times,
        wait_s=1.0 if wait is None else wait,
        backoff=2.0 if backoff is None else float(backoff),
        wait_max_s=max(60.0, wait or 0.0) if longest is None else longest,
        on=texts_of(value.get("on")),
    )


def _retry_on_failure(value: Value | None) -> ir.Retry | None:
    times = whole_of(value.get("retry")) if isinstance(value, Mapping) else None
    return None if times is None else ir.Retry(times, on=("*",))


def _says(value: Value | None, word: str) -> bool:
    return isinstance(value, Scalar) and value.value == word
