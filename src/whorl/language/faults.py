"""The errors of an expression: at parse time, while it is evaluated, or beyond a limit."""

from __future__ import annotations

from typing import Self

from whorl.errors import WhorlError


class LanguageError(WhorlError):
    """An expression cannot be used; `offset` counts characters into its source."""

    exit_code = 2
    # The name that nothing has, where that is what is wrong.
    name: str | None = None

    def __init__(
        self,
        message: str,
        offset: int | None = None,
        help: str = "",  # noqa: A002
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.help = help

    def at(self, offset: int) -> Self:
        """Give the error a position, unless something further inside already has."""
        if self.offset is None:
            self.offset = offset
        return self


class EvaluationError(LanguageError):
    """An expression that parses cannot be carried out on these values."""

    exit_code = 1


class LimitExceeded(LanguageError):
    """An expression would take more steps, text, items or levels than its limits allow."""

    exit_code = 1
