"""What each error code means: one page per code, shipped with the package."""

from __future__ import annotations

import re
from importlib.resources import files

_CODE = re.compile(r"[WRPI][0-9]{3}")


def explain(code: str) -> str | None:
    """Return the page of a code, as Markdown, or nothing for an unknown code."""
    name = code.strip().upper()
    if _CODE.fullmatch(name) is None:
        return None
    page = files(__name__).joinpath(f"{name}.md")
    return page.read_text(encoding="utf-8") if page.is_file() else None


def codes() -> tuple[str, ...]:
    """Return every code that has a page, in order."""
    names = (page.name.removesuffix(".md") for page in files(__name__).iterdir())
    return tuple(sorted(name for name in names if _CODE.fullmatch(name)))
