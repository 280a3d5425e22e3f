"""How fields of whorl.toml's tables are read; a wrong one is named, with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.lazily import regex
from whorl.providers.json_values import shorten
from whorl.providers.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.providers.settings import Headers

    Environment = Mapping[str, str]


T = TypeVar("T")
# What is behind the first of these marks belongs to no host, whatever it looks like.
_ADDRESS = regex(r"(?s)(?P<scheme>(?:[^:/?#\\]*:)?(?://)?)(?P<place>[^/?#\\]*)(?P<path>.*)")
_PATH_SHOWN_MAX = 1_000
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
    """One table; `place` names it in errors, `environment` is for `env:NAME`; W901."""

    def __init__(
        self,
        value: object,
        place: str,
        keys: tuple[str, ...] | None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(value, dict):
            refuse(f"{place} must be a table, not {type_name(value)}")
        self.values: dict[str, object] = value
        self.place = place
        self.environment = environment or {}
        for key in value:
            if keys is not None and key not in keys:
                near = did_you_mean(key, keys) or f"known: {', '.join(keys)}"
                raise UsageError(f"{place} has no {key!r}", help=near, code="W901")

    def typed(self, key: str, kind: type[T], default: T) -> T:
        value = self.values.get(key, default)
        if not isinstance(value, kind):
            refuse(f"{self.place} {key} must be {_TYPES[kind]}, not {type_name(value)}")
        return value

    def text(self, key: str) -> str:
        return self.typed(key, str, "")

    def count(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(f"{self.place} {key} must be a whole number of at least 1, not {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            refuse(f"{self.place} {key} must be a number of at least 0, not {value!r}")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            refuse(f"{self.place} {key} must be a list of texts, not {type_name(value)}")
        return tuple(value)

    def resolved(self, key: str) -> str:
        return resolve(self.text(key), self.environment)

    def url(self, url: str, wanted: str) -> str:
        check_user(url, f"{self.place} url")
        if url and not is_web_address(url):
            refuse(f"{self.place} url must be {wanted}, not {shown_url(url)}")
        return url

    def headers(self) -> Headers:
        """Headers; each may hold a credential, so all are secrets."""
        texts = self.text_table("headers")
        return tuple((name, Secret(resolve(text, self.environment))) for name, text in texts)

    def text_table(self, key: str) -> list[tuple[str, str]]:
        inner = Table(self.values.get(key, {}), f"{self.place} {key}", None).values
        texts = []
        for name, text in inner.items():
            if not isinstance(text, str):
                refuse(f"{self.place} {key}.{name} must be a text")
            texts.append((name, text))
        return texts


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
