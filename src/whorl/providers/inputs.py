"""Reads the inputs of a task, which a workflow computed: wrong ones are named, never guessed at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json


class Inputs:
    """The inputs of one kind of task; every fault is a ProviderError P113."""

    def __init__(self, kind: str, values: Mapping[str, Json]) -> None:
        self._kind = kind
        self.values = values

    def get(self, name: str) -> Json:
        """The value as it is; None when it is absent."""
        return self.values.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A text; any other value is written as JSON."""
        value = self.values.get(name)
        if value is None:
            return default
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def needed(self, name: str) -> str:
        """A text that must be there."""
        text = self.text(name)
        if not text:
            self.refuse(name, "is missing or empty")
        return text

    def number(self, name: str) -> float | None:
        """A number."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(name, f"must be a number, not {value!r}")
        return value

    def count(self, name: str) -> int | None:
        """A whole number of at least 1."""
        value = self.number(name)
        if value is None:
            return None
        if value != int(value) or value < 1:
            self.refuse(name, f"must be a whole number of at least 1, not {value!r}")
        return int(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"must be true or false, not {value!r}")
        return value

    def items(self, name: str) -> list[Json]:
        """A list; empty when it is absent."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse(name, f"must be a list, not {value!r:.80}")
        return value

    def table(self, name: str) -> dict[str, Json]:
        """An object; empty when it is absent."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse(name, f"must be an object, not {value!r:.80}")
        return value

    def texts(self, name: str) -> dict[str, str]:
        """An object of texts; values that are no texts are written as JSON."""
        found = self.table(name)
        return {
            key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for key, value in found.items()
            if value is not None
        }

    def refuse(self, name: str, why: str) -> NoReturn:
        """Raises the error for one input."""
        raise ProviderError(f"input {name!r} of task {self._kind!r} {why}", code="P113")
