"""Edits, imports and checks workflow files before they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Editor(NamedTuple):
    """The interface of an editor.

    `read_file` returns the text and the etag of a file of a project, `empty_text` the smallest
    file of a dialect and its file extension, `dialects` the dialects that have an editor.
    """

    read_file: Callable[..., tuple[str, str]]
    empty_text: Callable[[str], tuple[str, str]]
    dialects: Callable[[], list[str]]
