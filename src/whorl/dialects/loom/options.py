"""The options of an action, `operationOptions`: words with commas between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find, text_at
from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action

KNOWN = (
    "Asynchronous",
    "DisableAsyncPattern",
    "DisableAutomaticDecompression",
    "EnableSchemaValidation",
    "FailWhenLimitsReached",
    "IncludeAuthorizationHeadersInOutputs",
    "Sequential",
    "SingleInstance",
    "SuppressWorkflowHeaders",
    "SuppressWorkflowHeadersOnResponse",
)
_KNOWN = {word.lower() for word in KNOWN}


def options_of(action: Action) -> set[str]:
    """The options of an action, in lower case."""
    written = text_at(action.fields, "operationOptions")
    return {word.strip().lower() for word in written.split(",") if word.strip()}


def check_options(action: Action) -> None:
    """Warns about options that nobody knows."""
    place = find(action.fields, "operationOptions")
    for word in sorted(options_of(action) - _KNOWN) if place is not None else ():
        assert place is not None
        action.draft.warn(
            "W004",
            f"{action.name!r} has the option {word!r}, which nobody knows",
            place.span,
            label="unknown option",
            help=did_you_mean(word, KNOWN) or f"known: {', '.join(KNOWN)}",
        )
