"""How fields of whorl.toml's tables are read; a wrong one is named, with its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.ir.values import parse_duration
from whorl.lazily import regex
from whorl.providers.json_values import shorten
from whorl.providers.redaction import Secret
from whorl.providers.settings.schema import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.providers.settings import Headers

    Environment = Mapping[str, str]


T = TypeVar("T")
# What is behind the first of these marks belongs to no host, whatever it looks like.
_ADDRESS = regex(r"(?s)(?P<scheme>(?:[^:/?#\\]*:)?(?://)?)(?P<place>[^/?#\\]*)(?P<path>.*)")
_PATH_SHOWN_MAX = 1_000
_DURATION_MAX_S = 86_400.0
# A number alone would be seconds, which nobody means who keeps runs for a time.
_BARE = regex(r"[0-9.]*")
_SIZE = regex(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]B)", re.IGNORECASE)
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
REFERENCE = "docs/reference/configuration.md has every section and its keys"
_TYPES: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Table:
    """One table, whose keys are those of the rows `named`; `place` names it in errors; W901.

    `environment` is for `env:NAME`.
    """

    def __init__(
        self, value: object, place: str, named: str, environment: Environment | None = None
    ) -> None:
        if not isinstance(value, dict):
            refuse(f"{place} must be a table, not {type_name(value)}")
        self.values: dict[str, object] = value
        self.place = place
        self.environment = environment or {}
        self._kinds = keys_of(named)
        for key in value if "NAME" not in self._kinds else ():
            if key not in self._kinds:
                near = did_you_mean(key, self._kinds) or f"known: {', '.join(self._kinds)}"
                raise UsageError(f"{place} has no {key!r}", help=near, code="W901")

    def read(self) -> dict[str, Any]:
        """What it has, each as its row says; an empty text is as good as none."""
        read = {key: self.one(key) for key in self._kinds if key in self.values}
        return {key: value for key, value in read.items() if value not in ("", None)}

    def one(self, key: str) -> Any:
        kind = self._kinds.get(key) or self._kinds["NAME"]
        return _READERS[kind](self, key) if kind in _READERS else self.values[key]

    def typed(self, key: str, kind: type[T], default: T) -> T:
        value = self.values.get(key, default)
        if not isinstance(value, kind):
            refuse(f"{self.place} {key} must be {_TYPES[kind]}, not {type_name(value)}")
        return value

    def text(self, key: str) -> str:
        return self.typed(key, str, "")

    def count(self, key: str) -> int:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(f"{self.place} {key} must be a whole number of at least 1, not {value!r}")
        return value

    def number(self, key: str) -> float:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            refuse(f"{self.place} {key} must be a number of at least 0, not {value!r}")
        return float(value)

    def duration(self, key: str, *, least: float = 1e-9) -> float:
        seconds = _seconds(self.values[key])
        if seconds is None or not least <= seconds <= _DURATION_MAX_S:
            wanted = "a duration up to '24h', such as '20s'"
            refuse(f"{self.place} {key} must be {wanted}, not {self.values[key]!r}")
        return seconds

    def age(self, key: str) -> float:
        age = self.values[key]
        seconds = _seconds(age)
        if not isinstance(age, str) or _BARE.fullmatch(age.strip()) or seconds is None:
            refuse(f"{self.place} {key} must be a time such as '30d' or '12h', not {age!r}")
        return seconds

    def size(self, key: str) -> int:
        size = self.values[key]
        parts = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
        if parts is None:
            refuse(f"{self.place} {key} must be a size such as '500MB' or '5GB', not {size!r}")
        return int(float(parts[1]) * _UNITS[parts[2].upper()])

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values[key]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            refuse(f"{self.place} {key} must be a list of texts, not {type_name(value)}")
        return tuple(value)

    def permission(self, key: str) -> bool | tuple[str, ...]:
        value = self.values[key]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if not isinstance(value, bool):
            wanted = "true, false or a list of texts"
            refuse(f"{self.place} {key} must be {wanted}, not {type_name(value)}")
        return value

    def resolved(self, key: str) -> str:
        return resolve(self.text(key), self.environment)

    def secret(self, key: str) -> Secret | None:
        text = self.resolved(key)
        if self.text(key) and not text:
            variable = self.text(key)[4:]
            refuse(f"{self.place} {key} names the variable {variable!r}, which is not set")
        return Secret(text) if text else None

    def url(self, key: str) -> str:
        return self.web_address(key, self.text(key))

    def web_address(self, key: str, url: str) -> str:
        check_user(url, f"{self.place} {key}")
        if url and not is_web_address(url):
            example = "a web address such as 'https://api.example.com/v1'"
            refuse(f"{self.place} {key} must be {example}, not {shown_url(url)}")
        return url

    def headers(self, key: str) -> Headers:
        """Headers; each may hold a credential, so all are secrets."""
        texts = self.texts_by_name(key)
        return tuple((n, Secret(resolve(text, self.environment))) for n, text in texts.items())

    def texts_by_name(self, key: str) -> dict[str, str]:
        inner = self.typed(key, dict, {})
        for name, text in inner.items():
            if not isinstance(text, str):
                refuse(f"{self.place} {key}.{name} must be a text")
        return inner


_READERS: dict[str, Callable[[Table, str], object]] = {
    "age": Table.age,
    "duration": Table.duration,
    "headers": Table.headers,
    "kind": Table.text,
    "number": Table.number,
    "pause": lambda table, key: table.duration(key, least=0.0),
    "permission": Table.permission,
    "runtime": Table.text,
    "secret": Table.secret,
    "size": Table.size,
    "text": Table.text,
    "texts": Table.texts,
    "texts_by_name": Table.texts_by_name,
    "truth": lambda table, key: table.typed(key, bool, False),
    "url": Table.url,
    "whole": Table.count,
}


def _seconds(duration: object) -> float | None:
    try:
        return parse_duration(duration) if isinstance(duration, str | int | float) else None
    except ValueError:
        return None


def type_name(value: object) -> str:
    """What a wrong value is, without the value: it may be a secret in the wrong place."""
    return _TYPES.get(type(value), "a value of another kind")


def shown_url(url: str) -> str:
    """An address as it is shown: without a name and password, and without a query.

    A person decides by it who gets a key: the host is that which is connected to, and whole.
    """
    match = _ADDRESS.fullmatch(url)
    assert match is not None
    host = match["place"].rpartition("@")[2].encode("ascii", "backslashreplace").decode()
    path = match["path"].partition("?")[0]
    if not host:
        # It is no address, but may have a password.
        path = path.rpartition("@")[2]
    return repr(f"{match['scheme']}{host}{shorten(path, _PATH_SHOWN_MAX)}").replace(r"\\u", r"\u")


def refuse(message: str) -> NoReturn:
    raise UsageError(message, code="W901", help=REFERENCE)


def resolve(text: str, environment: Mapping[str, str]) -> str:
    return variable_of(text[4:].strip(), environment) if text.startswith("env:") else text


def variable_of(name: str, environment: Mapping[str, str]) -> str:
    """The text of a variable; one that holds only spaces is as good as none."""
    text = environment.get(name, "")
    return text if text.strip() else ""


def check_user(url: str, what: str) -> None:
    """Refuses a name and password in an address: they are not shown, and the rest looks right."""
    match = _ADDRESS.fullmatch(url)
    if match is not None and "@" in match["place"]:
        words = f"{what} must have no user or password, and {shown_url(url)} stands behind one"
        advice = "keys have fields of their own: api_key, headers, [keys.NAME]"
        raise UsageError(words, code="W901", help=advice)


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_valid_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    has_plain_host = has_valid_port and bool(parts.hostname) and "@" not in parts.netloc
    return has_plain_host and parts.scheme in ("http", "https")
