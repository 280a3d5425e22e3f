"""The operator's `[notify]`: where it is told that a run waits, has failed or has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from whorl.providers.settings.fields import (
    check_keys,
    headers_of,
    is_web_address,
    refuse,
    resolved,
    shown_url,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.providers.secrets import Secret

    Table = Mapping[str, object]

Occasion: TypeAlias = Literal["waiting", "failed", "ended"]

FIELDS = ("url", "headers", "on")


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """An address that is sent a POST, with secret headers, on these occasions."""

    url: str = ""
    headers: tuple[tuple[str, Secret], ...] = ()
    on: tuple[Occasion, ...] = get_args(Occasion)


def notify_from(table: Table, environment: Mapping[str, str]) -> NotifySettings:
    """The settings of `[notify]`; raises UsageError."""
    place = "[notify]"
    check_keys(table, FIELDS, place)
    url = resolved(typed(table, "url", str, place=place, default=""), environment)
    if url and not is_web_address(url):
        refuse(f"{place} url must be an http or https address, not {shown_url(url)}")
    if table and not url:
        refuse(f"{place} needs a url, the address that is told")
    chosen = table.get("on", list(get_args(Occasion)))
    if not isinstance(chosen, list) or not all(one in get_args(Occasion) for one in chosen):
        refuse(f"{place} on must be a list of {', '.join(map(repr, get_args(Occasion)))}")
    return NotifySettings(
        url, headers_of(table, place, environment), tuple(cast("list[Occasion]", chosen))
    )
