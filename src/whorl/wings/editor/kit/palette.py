"""What can be added to a file: the kinds of steps of a dialect, in groups, with their forms."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from whorl.dialects.reader import dialects
from whorl.errors import UsageError
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from whorl.wings.editor.kit.changes import Changes


def changes_of(dialect: str) -> type[Changes]:
    """What changes the files of a dialect; raises UsageError where nothing does."""
    plugins = dialects()
    reference = getattr(plugins.load(dialect), "editing", "") if plugins.has(dialect) else ""
    if not reference:
        known = ", ".join(name for name in plugins.names() if name == dialect or _is_edited(name))
        raise UsageError(
            f"files of a dialect {dialect[:60]!r} are not edited", help=f"known: {known}"
        )
    return cast("type[Changes]", load_reference(reference))


def _is_edited(name: str) -> bool:
    return bool(getattr(dialects().load(name), "editing", ""))


def palette(dialect: str) -> dict[str, Any]:
    """The palette of a dialect, as the page gets it."""
    changes = changes_of(dialect)
    return {
        "groups": [
            {"title": title, "kinds": [_kind(changes, kind) for kind in kinds]}
            for title, kinds in changes.groups.items()
        ]
    }


def _kind(changes: type[Changes], kind: str) -> dict[str, Any]:
    icon, colour = changes.looks.get(kind, ("", ""))
    inputs, outputs = changes.ports.get(kind, ((), ()))
    return {
        "kind": kind,
        "title": changes.titles.get(kind, kind.replace("_", " ").replace("-", " ").capitalize()),
        "icon": icon,
        "colour": colour,
        "needs": changes.needs.get(kind, ""),
        "ports": {"inputs": list(inputs), "outputs": list(outputs)},
        "fields": changes.new[kind],
        "form": [asdict(one) for one in changes.form_of(kind)],
    }
