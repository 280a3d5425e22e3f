"""While the code of a program runs, the clock and the dice of Python give the run's own values.

The code runs again when its run is resumed, and must request the same. What it may read instead is
named in a warning. Other threads are not concerned, and run no code meanwhile.
"""

from __future__ import annotations

import datetime
import random
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from whorl.runtimes.host import Host

_DATETIME = datetime.datetime
_LOCK = threading.RLock()
_DICE = ("random", "randint", "choice", "uniform")


class RunValues:
    """Replaces functions in modules and in the module of a program, and puts them back."""

    def __init__(self, host: Host, namespace: dict[str, Any]) -> None:
        self._host, self._thread = host, 0
        with _LOCK:
            self._swaps = self._swapped(host, namespace)

    def _swapped(
        self, host: Host, namespace: dict[str, Any]
    ) -> list[tuple[dict[str, Any], str, Any, Any]]:
        made: dict[int, Any] = {id(time.time): self._made(time.time, "now", lambda: host.loop.now)}
        made[id(uuid.uuid4)] = self._made(
            uuid.uuid4, "uuid", lambda: uuid.UUID(int=host.dice.getrandbits(128), version=4)
        )
        places: list[tuple[dict[str, Any], str]] = [(vars(time), "time"), (vars(uuid), "uuid4")]
        for name in _DICE:
            function = getattr(random, name)
            # A bound method is another object each time that it is read, but not in its module.
            made[id(vars(random)[name])] = self._made(function, "random", self._thrown(name))
            places.append((vars(random), name))
        made[id(_DATETIME)] = self._datetime()
        if any(value is datetime for value in namespace.values()):
            places.append((vars(datetime), "datetime"))
        places += [(namespace, name) for name, value in namespace.items() if id(value) in made]
        return [(where, name, where[name], made[id(where[name])]) for where, name in places]

    def __enter__(self) -> None:
        _LOCK.acquire()
        self._thread = threading.get_ident()
        for where, name, _, value in self._swaps:
            where[name] = value

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, lines: TracebackType | None
    ) -> None:
        for where, name, value, _ in self._swaps:
            where[name] = value
        _LOCK.release()

    def _made(
        self, real: Callable[..., Any], instead: str, own: Callable[..., Any]
    ) -> Callable[..., Any]:
        def value(*args: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return real(*args, **named)
            self._host.warn_of_values(getattr(real, "__name__", "now"), instead)
            return own(*args, **named)

        return value

    def _thrown(self, name: str) -> Callable[..., Any]:
        def thrown(*args: Any, **named: Any) -> Any:
            # That of the place where the code is then.
            return getattr(self._host.dice, name)(*args, **named)

        return thrown

    def _datetime(self) -> type[datetime.datetime]:
        """Returns a class that stands for `datetime`, and whose present is that of the run."""

        def now(tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return _DATETIME.fromtimestamp(self._host.loop.now, tz)

        class Kind(type):
            def __instancecheck__(cls, value: object) -> bool:
                return isinstance(value, _DATETIME)

            def __call__(cls, *args: Any, **named: Any) -> Any:
                return _DATETIME(*args, **named)

        words = {"now": staticmethod(self._made(_DATETIME.now, "now", now))}
        words["today"] = staticmethod(self._made(_DATETIME.today, "now", now))
        made: Any = Kind("datetime", (_DATETIME,), words)
        return made  # type: ignore[no-any-return]
