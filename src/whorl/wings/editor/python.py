"""Workflow files for a Python program, edited as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl.interfaces.python.loading import project_of
from whorl.wings.editor.files import edit_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.wings.editor.kit.edit import Edited


def edit(
    text: str,
    name: str,
    operations: Sequence[Mapping[str, object]],
    *,
    readers: Literal["rewire", "leave"] = "rewire",
) -> Edited:
    """Applies operations to the text of a workflow file, all or none; writes nothing.

    Raises EditRefused, with the line, where one cannot be carried out exactly. `readers` says
    whether the readers of a step are changed with it.
    """
    return edit_text(project_of(None), text, name, operations, rewires=readers == "rewire")
