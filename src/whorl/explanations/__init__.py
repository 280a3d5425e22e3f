"""What each error code means: one page per code, shipped with the package."""

from __future__ import annotations

import re
from importlib.resources import files

_CODE = re.compile(r"[WRPICX][0-9]{3}")


def explain(code: str) -> str | None:
    """Return the page of a code, as Markdown, or nothing for an unknown code."""
    name = code.strip().upper()
    if name not in codes():
        return None
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def title(code: str) -> str:
    """Return what a known code is about, in one line."""
    text = files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].partition(": ")[2]


def codes() -> tuple[str, ...]:
    """Return every code that has a page, in order."""
    names = (page.name.removesuffix(".md") for page in files(__name__).iterdir())
    return tuple(sorted(name for name in names if _CODE.fullmatch(name)))
