"""The `[mcp.NAME]` tables: servers of tools, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.secrets import Secret
from whorl.providers.settings.fields import (
    check_keys,
    headers_of,
    is_web_address,
    kind_of,
    number,
    refuse,
    resolved,
    section,
    shown_url,
    table_at,
    typed,
)
from whorl.providers.settings.shape import ToolServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

SERVER = ("command", "url", "env", "headers", "tools", "timeout_s")


def servers_from(tables: Table, environment: Mapping[str, str]) -> dict[str, ToolServer]:
    """All servers by name; raises UsageError."""
    return {
        name: _server(name, table_at(tables[name], f"[mcp.{name}]"), environment) for name in tables
    }


def _server(name: str, table: Table, environment: Mapping[str, str]) -> ToolServer:
    place = f"[mcp.{name}]"
    check_keys(table, SERVER, place)
    command = _texts(table, "command", place) or ()
    url = typed(table, "url", str, place=place, default="")
    if bool(command) == bool(url):
        refuse(f'{place} needs either command = ["program", ...] or url = "https://..."')
    if url and not is_web_address(url):
        refuse(f"{place} url must be a web address, not {shown_url(url)}")
    return ToolServer(
        name=name,
        command=command,
        url=url,
        env=_variables(table, place, environment),
        headers=headers_of(table, place, environment),
        tools=_texts(table, "tools", place),
        timeout_s=number(table, "timeout_s", place, 60.0),
    )


def _texts(table: Table, key: str, place: str) -> tuple[str, ...] | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        refuse(f"{place} {key} must be a list of texts, not {kind_of(value)}")
    return tuple(value)


def _variables(
    table: Table, place: str, environment: Mapping[str, str]
) -> tuple[tuple[str, str | Secret], ...]:
    """What the program sees beside the usual few; what comes from our own variables is secret."""
    found: list[tuple[str, str | Secret]] = []
    for name, text in section(table, "env", place).items():
        if not isinstance(text, str):
            refuse(f"{place} env.{name} must be a text")
        value = resolved(text, environment)
        # One that is not set here is not set there either.
        if value or not text.startswith("env:"):
            found.append((name, Secret(value) if text.startswith("env:") else text))
    return tuple(found)
