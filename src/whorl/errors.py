"""Every exception and diagnostic: what happened, where, why, and what to do.

WhorlError is the base of these.
InvalidWorkflow   the author's file; carries all diagnostics            exit 2.
EditRefused       a change that a text cannot take; nothing changed     exit 2.
UsageError        the command line, the configuration, a wrong name     exit 2.
RunFailed         the run; carries run id, path, iteration, cause       exit 1.
ProviderError     a provider or another service; retryable or not       exit 3.
StoreError        the store's file: full, locked, newer, damaged        exit 3.
    Fenced        another process owns the run by now                   exit 3.
InternalError     a mistake in Whorl                                    exit 70.
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Literal

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line of a file; line and column count from 1."""

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a workflow file, as data; `node` is the path of its step, where known.

    `is_secret`: the text at the span is never shown.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    help: str = ""
    severity: Severity = "error"
    node: str | None = None
    is_secret: bool = False


class WhorlError(Exception):
    """The base of everything that Whorl raises on purpose."""

    exit_code = 70

    def __reduce__(self) -> tuple[object, ...]:
        return _as_it_was, (type(self), self.args), vars(self)


def _as_it_was(kind: type[WhorlError], words: tuple[object, ...]) -> WhorlError:
    """Makes an error of another process again; its other attributes follow."""
    return kind.__new__(kind, *words)


class InvalidWorkflow(WhorlError):
    """A workflow file has mistakes; all of them are in `diagnostics`."""

    exit_code = 2

    def __init__(self, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{d.span or ''} {d.message}".strip() for d in self.diagnostics))


class SeveralWorkflows(InvalidWorkflow):
    """A file holds several workflows, and which one is meant was not said; `names` has all."""

    def __init__(
        self, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic], names: tuple[str, ...]
    ) -> None:
        self.names = names
        super().__init__(diagnostics)


class EditRefused(WhorlError):
    """A change of a text that was refused, with place and reason; `operation` counts from 0."""

    exit_code = 2

    def __init__(self, diagnostic: Diagnostic, operation: int = 0) -> None:
        self.diagnostic = diagnostic
        self.operation = operation
        super().__init__(f"{diagnostic.span or ''} {diagnostic.message}".strip())


class UsageError(WhorlError):
    """A request that cannot be carried out as it was made; its words can be printed as they are."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        help: str = "",  # noqa: A002
        code: str = "W900",
        facts: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(tame(message))
        self.help = tame(help)
        self.code = code
        # Interfaces make the advice from these, if there is none.
        self.facts = facts


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a run or a task failed, as it is in the journal."""

    code: str
    message: str
    path: str = ""
    iteration: int | None = None
    detail: dict[str, object] = field(default_factory=dict)


class RunFailed(WhorlError):
    """A run ended as failed."""

    exit_code = 1

    def __init__(self, run: str, cause: Cause) -> None:
        super().__init__(cause.message)
        self.run = run
        self.cause = cause


class RequestFailed(WhorlError):
    """A request of a workflow that is a program has failed; `error` is as it is in the journal.

    `code` is that of the first cause, `value` what the other side gave all the same.
    """

    exit_code = 1

    def __init__(self, error: Mapping[str, object], value: object = None) -> None:
        super().__init__(str(error.get("message") or "it failed"))
        self.error = dict(error)
        self.address = str(error.get("path") or "")
        self.value = value
        cause: object = error
        while isinstance(cause, dict):
            self.code = str(cause.get("code") or "R100")
            cause = cause.get("cause")


class LimitReached(RequestFailed):
    """A limit has ended the loop around: `limit` is its budget or its time."""

    def __init__(self, error: Mapping[str, object], limit: str = "", loop: str = "") -> None:
        super().__init__(error)
        self.limit, self.loop = limit, loop


class CodeChanged(UsageError):
    """The code of a run no longer does what it did: it requests something else at an address."""

    def __init__(self, address: str, was: str, now: str) -> None:
        super().__init__(
            f"the code has changed: it requested {was}, and now requests {now}",
            help="resume the run with the code that began it, fork it at an iteration before that "
            "place, or accept the old answers: `whorl resume RUN --new-code`",
            code="W917",
        )
        self.address, self.was, self.now = address, was, now


class ProviderError(WhorlError):
    """Something outside did not do what it was asked to do.

    `answered` is false where the other side may have done it and has not said so: a timeout, a
    connection that was lost. `unsent` in `detail` says that nothing reached the other side.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        code: str = "P100",
        retryable: bool = False,
        retry_after_s: float | None = None,
        detail: dict[str, object] | None = None,
        answered: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.detail = detail or {}
        self.answered = code != "P108" if answered is None else answered

    @property
    def is_doubtful(self) -> bool:
        """Whether it was sent, and its outcome is not known."""
        return not self.answered and not self.detail.get("unsent")


class StoreError(WhorlError):
    """The store's file cannot be read or written."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        code: str = "R900",
        help: str = "",  # noqa: A002
        is_final: bool = False,
    ) -> None:
        super().__init__(tame(message))
        self.code = code
        self.help = tame(help)
        # This process can write nothing more to the store.
        self.is_final = is_final

    @property
    def may_pass(self) -> bool:
        """Whether the same write may succeed later, such as when the disk has room again."""
        return self.code == "R900" and not self.is_final


class Fenced(StoreError):
    """Another process owns this run by now; nothing of this one was written."""


class InternalError(WhorlError):
    """A mistake of ours."""


# What a misspelt name may lack or have between its parts.
_JOINS = str.maketrans("", "", "-_ ")
_NAME_LENGTH_MAX = 100
UNSAFE_LETTERS = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
UNSAFE = regex(UNSAFE_LETTERS)


def as_json(diagnostic: Diagnostic) -> dict[str, object]:
    names = ("code", "severity", "message", "label", "help")
    document: dict[str, object] = {name: getattr(diagnostic, name) for name in names}
    node = {} if diagnostic.node is None else {"node": diagnostic.node}
    return document | {"span": diagnostic.span and asdict(diagnostic.span)} | node


def safe(text: str) -> str:
    """Return the text on one line, with nothing in it that could steer a terminal."""
    return visible(text, tab=" ")


def tame(text: str) -> str:
    """Return the text in its lines, with nothing else in it that could steer a terminal."""
    return "\n".join(visible(line) for line in text.split("\n"))


def escaped(text: str) -> str:
    """Return a JSON text with control and invisible characters escaped."""
    if text.isascii() and "\x7f" not in text:
        return text
    # Line breaks are of the JSON itself; in its texts they are escaped already.
    return UNSAFE.sub(lambda mark: "\n" if mark[0] == "\n" else f"\\u{ord(mark[0]):04x}", text)


def columns(text: str) -> int:
    """Return how many columns a terminal uses for a text."""
    if text.isascii():
        return len(text)
    shown = (letter for letter in text if unicodedata.category(letter) not in ("Mn", "Me", "Cf"))
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in shown)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `name` most probably stands for, if one is near enough."""
    from rapidfuzz.distance import OSA

    folded = _fold(name)
    best: str | None = None
    most = min(3, len(folded) // 3)
    for candidate in candidates if len(folded) <= _NAME_LENGTH_MAX else ():
        distance = OSA.distance(folded, _fold(candidate), score_cutoff=most)
        if distance <= most and candidate != name:
            best, most = candidate, distance - 1
        if most < 0:
            break
    return best


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the question that names the nearest candidate, or nothing."""
    candidate = nearest(name, candidates)
    return "" if candidate is None else f"did you mean {candidate!r}?"


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 call`, `2 calls`; `many` is the plural where an s does not make it."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def visible(text: str, *, tab: str = "    ") -> str:
    """Return the text with pictures of what a terminal would obey or not show."""
    if text.isascii() and text.isprintable():
        return text  # most texts; the pattern takes long to compile

    def picture(match: re.Match[str]) -> str:
        code = ord(match.group())
        if code < 0x20:
            return chr(0x2400 + code)
        return "\u2421" if code == 0x7F else "\ufffd"

    return UNSAFE.sub(picture, text.replace("\t", tab))


def _fold(name: str) -> str:
    return name.translate(_JOINS).casefold()
