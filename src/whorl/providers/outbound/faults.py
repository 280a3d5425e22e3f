"""What can go wrong on the network, as errors that say what was sent where, and what to do."""

from __future__ import annotations

import re
from contextlib import contextmanager
from math import isnan
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.json_values import NotJson, clean, parse_json, shorten, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


RETRY_AFTER_MAX_S = 60.0
EXCERPT_MAX = 500
# Statuses below 500 after which the same request may succeed: timeout, conflict, too early.
_PASSING = frozenset({408, 409, 425})
# A gateway says that it has no answer of the server behind it, which may have done the work.
_UNANSWERED = frozenset({502, 504, 524})
_NO_CREDIT = "the account has no credit left: add some at the provider, or name another model"
_TOO_LONG = "the prompt is longer than the model can read: shorten it, or take one that reads more"
_ADVICE = {
    402: _NO_CREDIT,
    401: "check the key or credentials for this host",
    403: "check what the key or credentials for this host may do",
    404: "check the URL and the model's name",
    413: "send less",
    429: "wait, or lower requests_per_minute or max_concurrent of the provider",
    529: "its servers are overloaded: wait, or name a second model to fall back to",
}
# What a server says by its error's code, type or message. No credit has the status of a limit of
# rate with some, but no wait ends it.
_OF_CREDIT = re.compile(
    r"insufficient_quota|billing_(?:not_active|hard_limit_reached|error)|credit balance is too low|"
    r"insufficient[ _](?:balance|credit|fund)",
    re.IGNORECASE,
)
_MEANINGS = (
    (_OF_CREDIT, _NO_CREDIT),
    (
        re.compile(
            r"context_length_exceeded|exceed_context_size|maximum context length|context window|"
            r"(?:prompt|input) is too long|exceeds the (?:available )?context|"
            r"input token count|request_too_large",
            re.IGNORECASE,
        ),
        _TOO_LONG,
    ),
    (
        re.compile(r"content[ _](?:policy|filter|management)|moderation_blocked", re.IGNORECASE),
        "the provider refuses this content: change the prompt, or name another model",
    ),
    (re.compile(r"invalid_api_key|api key not valid", re.IGNORECASE), _ADVICE[401]),
    (re.compile(r"model_not_found", re.IGNORECASE), _ADVICE[404]),
)


def status_fault(
    what: str, status: int, headers: Mapping[str, str], text: str, *, now: float = 0.0
) -> ProviderError:
    """The error for a status that is not a success. `what` is the method and the URL."""
    message, kinds = _server_message(text)
    excerpt = shorten(" ".join(clean(message).split()), EXCERPT_MAX)
    words = " ".join((*kinds, message[:EXCERPT_MAX]))
    # What to do, by what the server says of its error, or else by its status.
    advice = _ADVICE.get(status, "")
    for pattern, meaning in _MEANINGS if status < 500 else ():
        if pattern.search(words) and (status != 429 or meaning == _NO_CREDIT):
            advice = meaning
            break
    is_rate = status == 429 and advice != _NO_CREDIT
    code = "P102" if is_rate else "P103" if status >= 500 else "P104"
    reason = (f": {excerpt}" if excerpt else "") + (f"; {advice}" if advice else "")
    return ProviderError(
        f"{what} gave status {status}{reason}",
        code=code,
        retryable=code != "P104" or status in _PASSING,
        retry_after_s=retry_after(headers.get("retry-after", ""), now),
        detail={"status": status, "body": excerpt, "excerpt": reason}
        | ({"too_long": True} if advice == _TOO_LONG or status == 413 else {}),
        answered=status not in _UNANSWERED,
    )


def _server_message(text: str) -> tuple[str, list[str]]:
    """What a server says about its error, without the JSON around it, and its codes and types."""
    try:
        reply = parse_json(text)
    except NotJson:
        return text, []
    tables = (table_of(reply), table_of(table_of(reply).get("error")))
    kinds = [str(table[name]) for table in tables for name in ("code", "type") if table.get(name)]
    message = reply
    for name in ("error", "message"):
        message = table_of(message).get(name) or message
    return message if isinstance(message, str) else text, kinds


def retry_after(text: str, now: float, most: float = RETRY_AFTER_MAX_S) -> float | None:
    """How long a `Retry-After` header asks to wait, in seconds or as a date; at most so long."""
    text = text.strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return None if isnan(seconds) else min(max(seconds, 0.0), most)


def too_large(what: str, limit: int) -> ProviderError:
    why = f"{what} answered with more than {limit:,} bytes; ask for less"
    return ProviderError(why, code="P106")


def malformed(what: str, why: str, *, retryable: bool = True) -> ProviderError:
    return ProviderError(f"{what}: {why}", code="P111", retryable=retryable)


def cut_off(what: str, why: str) -> ProviderError:
    """The error for a reply that ends too early: what it would have said is not known."""
    return ProviderError(f"{what}: {why}", code="P111", retryable=True, answered=False)


def timed_out(what: str, seconds: float) -> ProviderError:
    why = f"{what} took longer than {seconds:g} s; raise timeout of the step or of the provider"
    return ProviderError(why, code="P108", retryable=True)


@contextmanager
def network_faults(what: str) -> Iterator[None]:
    import httpcore2

    try:
        yield
    except httpcore2.TimeoutException as cause:
        why = f"{what}: no answer in time ({type(cause).__name__}); raise timeout of the step"
        unsent = isinstance(cause, httpcore2.ConnectTimeout)
        detail: dict[str, object] = {"unsent": True} if unsent else {}
        raise ProviderError(why, code="P108", retryable=True, detail=detail) from cause
    except httpcore2.LocalProtocolError as cause:
        why = f"{what}: the request cannot be sent ({cause}); check its headers"
        raise ProviderError(why, code="P104") from cause
    except (httpcore2.RemoteProtocolError, httpcore2.NetworkError) as cause:
        why = str(cause) or type(cause).__name__
        is_protocol = isinstance(cause, httpcore2.RemoteProtocolError)
        if is_protocol and "without sending a response" not in why:
            raise cut_off(what, f"the reply is cut off or malformed ({cause})") from cause
        is_untrusted = "CERTIFICATE_VERIFY_FAILED" in why
        advice = "check the URL, the network and that the server runs"
        message = f"not reachable or connection lost ({why}); {advice}"
        if is_untrusted:
            message = f"its certificate is not trusted ({why})"
        is_unsent = is_untrusted or isinstance(cause, httpcore2.ConnectError)
        fault = ProviderError(f"{what}: {message}", code="P101", answered=False)
        fault.retryable, fault.detail = not is_untrusted, {"unsent": True} if is_unsent else {}
        raise fault from cause
