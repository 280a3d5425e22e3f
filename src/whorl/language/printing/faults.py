"""What a printer raises for a tree that its syntax cannot say."""

from __future__ import annotations


class CannotSay(Exception):
    """A construct that the syntax has no words for, and why."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why
