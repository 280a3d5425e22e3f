"""What is done with workflow files before they run: they are edited, taken over and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Editor(NamedTuple):
    """What the core asks of an editor.

    `read_file` gives the text and the etag of a file of a project, `empty_text` the smallest file
    of a dialect and the ending of its name, `dialects` those that have one.
    """

    read_file: Callable[..., tuple[str, str]]
    empty_text: Callable[[str], tuple[str, str]]
    dialects: Callable[[], list[str]]
