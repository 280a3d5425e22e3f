"""The values that a workflow writes down: constants, expressions, and lists and objects of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from whorl.language import Expression, Json

__all__ = ["Constant", "Expression", "Fields", "Items", "Port", "PortType", "Retry", "Value"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A JSON value that stands for itself."""

    value: Json


@dataclass(frozen=True, slots=True)
class Items:
    """A list whose items may hold expressions."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """An object whose values (and, where a dialect has it, keys) may hold expressions."""

    entries: tuple[tuple[str | Expression, Value], ...] = ()


Value: TypeAlias = Constant | Expression | Items | Fields

PortType = Literal["string", "number", "integer", "boolean", "json", "list", "file", "files", "any"]


@dataclass(frozen=True, slots=True)
class Port:
    """A typed input of a workflow.

    `aliases` are other names that it may be given under; `*` is any name, where one value is given.
    """

    name: str
    type: PortType = "any"
    required: bool = True
    default: Json = None
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, how long apart and after which faults a task is tried again.

    `on` holds error codes, HTTP statuses as text, or words such as `timeout`; empty means every
    fault that the provider calls retryable, and `("*",)` means every fault. A wait that is `drawn`
    lies anywhere between the one before it (nothing, at first) and its own length.
    """

    times: int
    wait_s: float = 1.0
    backoff: float = 2.0
    wait_max_s: float = 60.0
    wait_min_s: float = 0.0
    jitter: float = 0.0
    on: tuple[str, ...] = ()
    drawn: bool = False
