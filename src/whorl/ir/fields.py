"""The fields that every node has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from whorl.ir.values import Expression, Retry, Value

# How a node can have ended. `passed` in an `After` stands for: succeeded, skipped by its own
# condition, or failed where its `on_failure` says continue.
Status = Literal["succeeded", "failed", "skipped", "timed_out", "cancelled"]
Wanted = Literal["passed", "succeeded", "failed", "skipped", "timed_out", "cancelled"]


@dataclass(frozen=True, slots=True)
class After:
    """A node waits for another one, and runs only if that one ended in one of these ways."""

    node: str
    statuses: tuple[Wanted, ...] = ("passed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFields:
    """What all nodes share: a name, their place in the order, and when they run at all.

    `echo` is what the node's record tells as its inputs, where a workflow has records.
    """

    name: str
    after: tuple[After, ...] = ()
    when: Expression | None = None
    on_failure: Literal["halt", "continue"] = "halt"
    retry: Retry | None = None
    timeout_s: float | None = None
    shape: Value | None = None
    place: str = ""
    echo: Value | None = None
    description: str = ""
