"""What each error code means: one page per code, shipped with the package."""

from __future__ import annotations

import re
from importlib.resources import files

_CODE = re.compile(r"[WRPICX][0-9]{3}")
# Codes that journals and notes of earlier versions have, and where they went.
_MOVED = """C102=C101 C103=C101 C104=W012 C105=W005 C108=W001/W002 C109=C107 I901=I900 P115=P105
    P117=P106 P126=P122 R112=R100 R114=P125 R120=P118 R903=R906 R904=W902/W905 R905=R900 R921=R901
    W003=W012 W010=W005 W015=W007 W017=W011 W020=W005 W022=P114/P110 W024=W012 W026=W903 W907=W902
    X100=W005/W007 X102=X101 X103=X101 X105=X106 X108=X106 X112=W023 X116=R103"""
MOVED_CODES = dict(pair.split("=") for pair in _MOVED.split())


def explain(code: str) -> str | None:
    """Return the page of a code, as Markdown, or nothing for an unknown code."""
    name = code.strip().upper()
    if name in MOVED_CODES:
        return f"{name} is {MOVED_CODES[name].replace('/', ' or ')} now\n"
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
