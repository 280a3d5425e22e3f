"""What is inside of content with several parts: the pairs of a form, the bodies of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from whorl.language.faults import EvaluationError
from whorl.language.functions.logic.envelopes import OCTETS, envelope

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value

_PARTS_MAX = 1_000


def form_pairs(run: Run, text: str) -> list[Value]:
    """Return the pairs of a form, in order."""
    run.check_text(len(text), "form")
    pairs = parse_qsl(text, keep_blank_values=True)
    run.check_items(len(pairs), "form")
    return [{"key": key, "value": value} for key, value in pairs]


def multipart_bodies(run: Run, content: bytes, content_type: str) -> list[Value]:
    """Return the parts of a message; each has headers and wrapped content."""
    boundary = _boundary(content_type)
    if not boundary:
        raise EvaluationError("content of several parts names no boundary")
    run.spend(len(content) >> 6)
    mark = b"--" + boundary.encode("utf-8", "replace")
    parts = content.split(mark)[1:]
    run.check_items(len(parts), "message")
    found: list[Value] = []
    for part in parts[:_PARTS_MAX]:
        if part.startswith(b"--"):
            break
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = _headers(head)
        kind = headers.get("content-type") or OCTETS
        found.append({"headers": dict(headers), "body": envelope(body.removesuffix(b"\r\n"), kind)})
    return found


def _boundary(content_type: str) -> str:
    for piece in content_type.split(";")[1:]:
        name, _, value = piece.partition("=")
        if name.strip().lower() == "boundary":
            return value.strip().strip('"')
    return ""


def _headers(head: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, mark, value = line.partition(":")
        if mark:
            found[name.strip().lower()] = value.strip()
    return found
