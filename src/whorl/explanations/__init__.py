"""What each error code means: one page per code, shipped with the package."""

from __future__ import annotations

import re
from importlib.resources import files

_CODE = re.compile(r"[WRPI][0-9]{3}")
# The files hold no blank lines around their headings; readers get them.
_TITLE = re.compile(r"\A(# .*)\n")
_HEADING = re.compile(r"\n(## (?:What|Why|Example|Fix).*)\n")


def explain(code: str) -> str | None:
    """Return the page of a code, as Markdown, or nothing for an unknown code."""
    name = code.strip().upper()
    if _CODE.fullmatch(name) is None:
        return None
    page = files(__name__).joinpath(f"{name}.md")
    if not page.is_file():
        return None
    text = _TITLE.sub(r"\1\n", page.read_text(encoding="utf-8"))
    return _HEADING.sub(r"\n\n\1\n\n", text)


def codes() -> tuple[str, ...]:
    """Return every code that has a page, in order."""
    names = (page.name.removesuffix(".md") for page in files(__name__).iterdir())
    return tuple(sorted(name for name in names if _CODE.fullmatch(name)))
