"""The fields of the parts of a file: one that is not known can only be a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from whorl.dialects.orka.draft import Draft
    from whorl.source import Entry


def check_fields(
    draft: Draft, written: Iterable[Entry], known: Collection[str], owner: str
) -> None:
    """Reports the fields that a part cannot have, each with the nearest one."""
    for entry in written:
        if entry.name not in known:
            message = f"{owner} has no field {entry.name[:60]!r}"
            advice = did_you_mean(entry.name, known) or f"fields: {', '.join(sorted(known))}"
            draft.report("W004", message, entry.key.span, label="unknown field", help=advice)


def warn_of_fields(
    draft: Draft, written: Iterable[Entry], known: Collection[str], owner: str
) -> None:
    """Warns of fields that have no effect: the public system takes any, and reads no others."""
    for entry in written:
        if entry.name not in known:
            message = f"{owner} has an unknown field {entry.name[:60]!r}, which has no effect"
            advice = did_you_mean(entry.name, known)
            draft.warn("W004", message, entry.key.span, label="unknown field", help=advice)
