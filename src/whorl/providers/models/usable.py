"""Whether what a model said is an answer: nothing, a refusal or a part of an answer is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.outbound.faults import malformed
from whorl.providers.texts import shorten

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.wire import Answer, Conversation

CUT = "R120"
PARTIAL_MAX = 2_000
_SHOWN_MAX = 500
_CUT_SHORT = frozenset({"length", "context"})
# What servers call the end of an answer that was withheld.
_WITHHELD = frozenset({"refusal", "content_filter"})


def fault_in(answer: Answer, conversation: Conversation, model: str) -> ProviderError | None:
    """Why an answer cannot be used; None where it can."""
    is_empty = not answer.text.strip() and not answer.calls
    if answer.refusal or answer.finish in _WITHHELD:
        return _refused(answer, model)
    if answer.finish in _CUT_SHORT and (is_empty or _is_capped(answer, conversation)):
        return _cut(answer, conversation, model, is_empty=is_empty)
    if answer.calls and not conversation.tools:
        names = ", ".join(sorted({repr(shorten(call.name, 60)) for call in answer.calls}))
        return malformed(model, f"the reply asks for the tool {names}, and none was offered")
    if is_empty:
        why = f"the reply has neither text nor tool calls (finish reason {answer.finish!r})"
        return malformed(model, why)
    return None


def warnings_of(answer: Answer, conversation: Conversation) -> list[Json]:
    """What a person should know of an answer that can be used."""
    if answer.finish not in _CUT_SHORT:
        return []
    at = "the model's own limit"
    if conversation.max_tokens is not None and answer.finish == "length":
        at = f"max_tokens, which is {conversation.max_tokens:,}; raise it for a whole answer"
    return [{"code": CUT, "message": f"an answer was cut at {at}"}]


def _is_capped(answer: Answer, conversation: Conversation) -> bool:
    """Whether the answer was cut at a limit that the file did not set."""
    is_limited = conversation.max_tokens is None and answer.limit is not None
    return is_limited and answer.finish == "length"


def _refused(answer: Answer, model: str) -> ProviderError:
    said = " ".join((answer.refusal or answer.text).split())
    words = f": {shorten(said, _SHOWN_MAX)}" if said else f" (finish reason {answer.finish!r})"
    return ProviderError(
        f"{model} refuses to answer{words}; change the prompt, or name another model",
        code="P119",
        detail={"finish": answer.finish, "refusal": said[:PARTIAL_MAX]},
    )


def _cut(
    answer: Answer, conversation: Conversation, model: str, *, is_empty: bool
) -> ProviderError:
    what = "before it said anything" if is_empty else "in the middle"
    limit = answer.limit
    if limit is None or answer.finish != "length":
        why = "by the model's own limit; ask for less"
    elif conversation.max_tokens is not None:
        why = f"at {limit.field}, which is {limit.tokens:,}; raise max_tokens of the step"
    else:
        why = (
            f"at {limit.tokens:,} tokens, the {limit.field} that was sent because the step sets "
            "none; set max_tokens on the step, or raise the budget"
        )
    return ProviderError(
        f"the answer of {model} was cut {what} {why}",
        code="P118",
        detail={"finish": answer.finish, "partial": answer.text[-PARTIAL_MAX:]},
    )
