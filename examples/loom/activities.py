"""What the examples of this folder call: each function gets one argument, named `input`."""

# ruff: noqa: A002 - the argument of such a function is named `input`.
from __future__ import annotations

_WORDS = {"whorl": "one turn of a spiral", "loom": "a machine that weaves"}
_TRIES: list[str] = []
_PAGES = {1: {"items": ["a", "b"], "next": 2}, 2: {"items": ["c"], "next": None}}


def look_up(input: dict) -> str:
    """What a word means."""
    return f"{input['word']} is {_WORDS.get(input['word'], 'unknown')}"


def add(input: dict) -> str:
    """The sum of numbers."""
    return str(sum(input["numbers"]))


def page(input: int) -> dict:
    """One page of a list."""
    return _PAGES[input]


def job(input: dict) -> dict:
    """Where a job stands, which is done when it is asked about for the third time."""
    done = input["times"] >= 3
    return {"state": "complete", "result": f"{input['id']} is woven"} if done else {"state": "busy"}


def flaky(input: str) -> str:
    """Something that works on the third try."""
    _TRIES.append(input)
    if len(_TRIES) < 3:
        raise ConnectionError("the thread broke")
    return f"{input} after {len(_TRIES)} tries"


def spin(input: str) -> str:
    """Yarn of a fibre."""
    return f"{input} yarn"


def send(input: dict) -> dict:
    """Stands in for a connector that sends mail."""
    return {"sent": True, "total": input["body"]["total"]}
