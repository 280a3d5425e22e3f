"""What went wrong below a session: what a program said last, what the network did, who refused."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.errors import ProviderError

STDERR_MAX = 4_000
LINE_MAX = 300


class Trouble:
    """Kept for the messages about one server."""

    def __init__(self) -> None:
        self.faults: deque[ProviderError] = deque(maxlen=5)
        self.refusal: ProviderError | None = None
        self._said = b""

    def hear(self, piece: bytes) -> None:
        """Takes what a program says on its standard error; what is too long ago is forgotten."""
        self._said = (self._said + piece)[-STDERR_MAX:]

    def words(self) -> str:
        """What to add to a message: who refused, or the program's last line."""
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        said = f"; it said: {clean(lines[-1].strip())[:LINE_MAX]}" if lines else ""
        return f"; {self.refusal}{said}" if self.refusal else said


def innermost(cause: BaseException) -> str:
    """The first line of the exception at the bottom of a group."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    lines = str(cause).strip().splitlines()
    return clean(lines[0])[:LINE_MAX] if lines else type(cause).__name__


def first_of(cause: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The first exception of a kind in a group, or the exception itself."""
    if isinstance(cause, kind):
        return cause
    inner = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
    return next((found for one in inner if (found := first_of(one, kind))), None)
