"""Lines of whorl.toml that advice names: whole, with what is permitted already.

A table and a key may stand only once in a file, so a line takes the place of the one that is there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.providers.settings import Allow


def line_below(section: str, line: str) -> str:
    """A line, and where it belongs."""
    return f"`{line}` below [{section}] in whorl.toml"


def permit_command(allow: Allow, program: str) -> str:
    """The line that permits a program beside the others; where a value decides which: all."""
    line = f"commands = {with_entry(allow.commands, program)}" if program else "commands = true"
    return line_below("allow", line) + ("; `commands = true` permits all" if program else "")


def permit_file(allow: Allow, verb: str, glob: str) -> str:
    """The line that permits to `read` or `write` the files of a pattern beside the others."""
    lists = {"read": [*(allow.read or ())], "write": [*allow.write]}
    if verb == "read" and allow.read is None:
        # What may be read without any permission, which a list takes the place of.
        lists[verb].append("**")
    lists[verb].append(glob)
    inner = ", ".join(f"{name} = {_as_list(globs)}" for name, globs in lists.items() if globs)
    return line_below("allow", f"files = {{{inner}}}")


def with_entry(known: bool | Sequence[str] | None, entry: str) -> str:
    """A list of TOML: what it has, and one more entry."""
    return _as_list([*([] if isinstance(known, bool) or known is None else known), entry])


def _as_list(entries: Sequence[str]) -> str:
    return json.dumps(list(entries), ensure_ascii=False)
