"""Reads the fields of whorl.toml's tables: wrong ones are named, with their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.providers.secrets import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

T = TypeVar("T")
REFERENCE = "docs/reference/configuration.md has every section and its keys"


def section(table: Table, name: str, place: str = "") -> Table:
    """A table inside of a table; empty when it is absent."""
    return table_at(table.get(name, {}), f"{place} {name}".strip() if place else f"[{name}]")


def table_at(value: object, place: str) -> Table:
    """The value, which must be a table."""
    if not isinstance(value, dict):
        refuse(f"{place} must be a table, not {kind_of(value)}")
    return value


def check_keys(table: Table, known: tuple[str, ...], place: str) -> None:
    """Raises UsageError W901 for a key that nobody knows."""
    for key in table:
        if key not in known:
            raise UsageError(
                f"{place} has no {key!r}",
                help=did_you_mean(key, known) or f"known: {', '.join(known)}",
                code="W901",
            )


def typed(table: Table, key: str, kind: type[T], *, place: str, default: T) -> T:
    """A text or a truth value."""
    value = table.get(key, default)
    if not isinstance(value, kind):
        refuse(f"{place} {key} must be {_WORDS[kind]}, not {kind_of(value)}")
    return value


def count(table: Table, key: str, place: str) -> int | None:
    """A whole number of at least 1."""
    value = table.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        refuse(f"{place} {key} must be a whole number of at least 1, not {value!r}")
    return value


def number(table: Table, key: str, place: str, default: float) -> float:
    """A number of at least 0."""
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        refuse(f"{place} {key} must be a number of at least 0, not {value!r}")
    return float(value)


_WORDS: dict[type, str] = {str: "a text", bool: "true or false"}
_KINDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def kind_of(value: object) -> str:
    """What a wrong value is, without the value: it may be a secret in the wrong place."""
    return _KINDS.get(type(value), "a value of another kind")


def shown_url(url: str) -> str:
    """An address as errors show it: without a name and password, and without a query."""
    return repr(re.sub(r"(?s)^([^:]*:)?(//)?.*@", r"\1\2", url.partition("?")[0])[:200])


def refuse(message: str) -> NoReturn:
    """Raises the error for one field."""
    raise UsageError(message, code="W901", help=REFERENCE)


def headers_of(
    table: Table, place: str, environment: Mapping[str, str]
) -> tuple[tuple[str, Secret], ...]:
    """Headers; each may hold a credential, so all are secrets."""
    found = []
    for name, text in section(table, "headers", place).items():
        if not isinstance(text, str):
            refuse(f"{place} headers.{name} must be a text")
        found.append((name, Secret(resolved(text, environment))))
    return tuple(found)


def resolved(text: str, environment: Mapping[str, str]) -> str:
    """The text, or the variable that `env:NAME` names."""
    return environment.get(text[4:].strip(), "") if text.startswith("env:") else text


def is_web_address(url: str) -> bool:
    """Whether it is a URL that can be called."""
    try:
        parts = urlsplit(url)
        known_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = known_port and bool(parts.hostname) and "@" not in parts.netloc
    return plain and parts.scheme in ("http", "https")
