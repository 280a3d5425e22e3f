"""What the machine wants done by whoever drives it. Nobody changes a command once it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from whorl.language import Json


@dataclass(slots=True)
class Perform:
    """Do a task. Priced and side-effecting kinds are journaled as `task.started` first.

    The other side can recognise a call that is sent again by its `key`: the address of the first
    attempt at it of which nobody knows what came of it, or of this one.
    """

    address: str
    kind: str
    inputs: dict[str, Json] = field(default_factory=dict)
    attempt: int = 1
    timeout_s: float | None = None
    returns: Json = None
    session: str = ""
    repair: Json = None
    key: str = ""
    secure: bool = False
    secure_outputs: bool = False


@dataclass(slots=True)
class Send:
    """The intent at this address is accounted for: the call may go out.

    `cap` is the number of tokens that its answer may have, where a budget sets one.
    """

    address: str
    cap: int | None = None


@dataclass(slots=True)
class SetTimer:
    """Feed `timer.fired` at this time, in seconds since the epoch."""

    address: str
    due: float


@dataclass(slots=True)
class Cancel:
    """Whatever is under way at this address, a call or a timer, is no longer wanted."""

    address: str


Command: TypeAlias = Perform | Send | SetTimer | Cancel
