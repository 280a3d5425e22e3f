"""What the operator says about web services: keys by name, who answers for connectors, limits."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.ir.durations import parse_duration
from whorl.providers.secrets import Secret
from whorl.providers.settings.fields import (
    check_keys,
    count,
    headers_of,
    is_web_address,
    refuse,
    resolved,
    shown_url,
    table_at,
    typed,
)
from whorl.providers.texts import NotJson, as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

    Table = Mapping[str, object]

KEY = ("url", "token", "username", "password", "headers")
CONNECTORS = ("url", "replies")
LIMITS = ("iterations", "time")
ITERATIONS_MAX, TIME_MAX_S = 1_000, 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """One `[keys.NAME]`: headers that go to the host of `url` and nowhere else.

    There are none where the variables that should hold the key are not set.
    """

    name: str
    url: str
    headers: tuple[tuple[str, Secret], ...]
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """`[connectors]`: the address that answers for all of them, and replies by name or address."""

    url: str = ""
    replies: Mapping[str, Json] = field(default_factory=dict)


def keys_from(section: Table, environment: Mapping[str, str]) -> dict[str, KeySettings]:
    """The keys by name."""
    return {
        name: _key(name, table_at(section[name], f"[keys.{name}]"), environment) for name in section
    }


def _key(name: str, table: Table, environment: Mapping[str, str]) -> KeySettings:
    place = f"[keys.{name}]"
    check_keys(table, KEY, place)
    url = typed(table, "url", str, place=place, default="")
    if not is_web_address(url):
        refuse(f"{place} needs the url that it is for, such as 'https://api.example.com'")
    texts = {
        key: resolved(typed(table, key, str, place=place, default=""), environment)
        for key in ("token", "username", "password")
    }
    headers = list(headers_of(table, place, environment))
    secrets = [secret for _, secret in headers]
    if texts["token"]:
        headers.append(("Authorization", Secret(f"Bearer {texts['token']}")))
        secrets.append(Secret(texts["token"]))
    elif texts["username"] or texts["password"]:
        pair = basic(texts["username"], texts["password"])
        headers.append(("Authorization", Secret(f"Basic {pair}")))
        secrets += [Secret(pair), Secret(texts["password"])]
    if not headers and not {"token", "username", "password"} & set(table):
        refuse(f"{place} needs token, username and password, or headers")
    return KeySettings(name=name, url=url, headers=tuple(headers), secrets=tuple(secrets))


def basic(username: str, password: str) -> str:
    """A name and a password as the header of basic authentication has them."""
    return base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def connectors_from(section: Table) -> ConnectorSettings:
    """Who answers for connectors."""
    check_keys(section, CONNECTORS, "[connectors]")
    url = typed(section, "url", str, place="[connectors]", default="")
    if url and not is_web_address(url):
        refuse(f"[connectors] url must be such as 'http://127.0.0.1:8080', not {shown_url(url)}")
    replies = section.get("replies", {})
    if not isinstance(replies, dict):
        refuse("[connectors] replies must be a file, or a table of replies by action")
    try:
        found = {str(name): as_json(reply) for name, reply in replies.items()}
    except NotJson as cause:
        refuse(f"[connectors] replies are not JSON: {cause}")
    return ConnectorSettings(url.rstrip("/"), found)


def limits_from(section: Table) -> dict[str, float]:
    """What bounds a loop that does not say it itself: `iterations`, and `time` in seconds."""
    check_keys(section, LIMITS, "[limits]")
    found: dict[str, float] = {}
    iterations = count(section, "iterations", "[limits]")
    if iterations is not None:
        found["iterations"] = iterations
        if iterations > ITERATIONS_MAX:
            refuse(f"[limits] iterations must be at most {ITERATIONS_MAX}, not {iterations}")
    time = section.get("time")
    if isinstance(time, str | int | float) and not isinstance(time, bool):
        try:
            found["time"] = parse_duration(time)
        except ValueError:
            time = None
    if "time" in section and not 0 < found.get("time", 0) <= TIME_MAX_S:
        refuse(f"[limits] time must be a duration up to '24h', not {section['time']!r}")
    return found
