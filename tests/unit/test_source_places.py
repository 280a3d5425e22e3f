"""Every character of a scalar has its place, and any text is read or refused."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.source import Document, Mapping, Scalar, Sequence, Value, plain
from whorl.source.json import read_json
from whorl.source.report import read_text
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

READERS: dict[str, Callable[..., Document]] = {"yaml": read_yaml, "json": read_json}


def attempt(
    read: Callable[[str, str], Document], text: str
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    try:
        return read(text, "f"), ()
    except InvalidWorkflow as error:
        return None, error.diagnostics


def character_at(text: str, span: Span) -> str:
    line = re.split(r"\r\n|\n|\r", text)[span.line - 1]
    return line[span.column - 1 : span.column]


def test_a_scalar_made_by_hand_can_be_located() -> None:
    assert Scalar("abc", Span("f", 2, 5, 5), quoted=True).locate(1) == Span("f", 2, 7, 1)


def strings(value: Value) -> list[Scalar]:
    match value:
        case Scalar():
            return [value] if isinstance(value.value, str) else []
        case Sequence():
            return [found for item in value.items for found in strings(item)]
        case Mapping():
            return [
                found for entry in value.entries for found in (entry.key, *strings(entry.value))
            ]


def check_letters_are_located(document: Document) -> None:
    for scalar in strings(document.root):
        for offset, letter in enumerate(scalar.text):
            if letter.isascii() and letter.isalpha():
                assert character_at(document.text, scalar.locate(offset)) == letter


TEXTS = st.text(alphabet="abcXYZ '\"\\\n\t:#-{}é😀\x85", max_size=40)


@pytest.mark.campaign
@given(TEXTS, st.sampled_from([None, "'", '"', "|", ">"]), st.integers(20, 90))
@settings(max_examples=amount(100, 800), deadline=None)
def test_every_letter_of_written_yaml_is_located(text: str, style: str, width: int) -> None:
    written = yaml.safe_dump({"k": [text]}, default_style=style, width=width, allow_unicode=True)
    written = written.replace("!!str ", "")
    check_letters_are_located(read_yaml(written, "f"))


@pytest.mark.campaign
@given(TEXTS, st.booleans(), st.integers(0, 4))
@settings(max_examples=amount(100, 800), deadline=None)
def test_every_letter_of_written_json_is_located(text: str, ascii_only: bool, indent: int) -> None:
    written = json.dumps({"k": [text], text: 1}, ensure_ascii=ascii_only, indent=indent)
    document = read_json(written, "f", repeated="keep")

    assert plain(document.root) == json.loads(written)
    check_letters_are_located(document)


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("a", ": ", "- ", "\n", "  ", "{", "}", "[", "]", ",", "&x ", "*x", "!t ", "|", ">"),
            *('"', "'", "\\", "\t", "#", "%", "---", "...", "? ", "<<", "1", ".nan", "0x", "//"),
            *("/*", "*/", "null", "\0", "\ud800", "\ufeff", "\x85", "\u2028", "\r", "{{", "@"),
            *("\\u", "%TAG ! x\n", "k: ", "true", "&y\n", "|2-\n", ">+\n"),
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.campaign
@given(st.one_of(FRAGMENTS, st.text(max_size=60)), st.sampled_from(["yaml", "json", "python"]))
@example("", "yaml")
@example("- ? -", "yaml")
@example("\ufeff\ufeff", "yaml")
@settings(max_examples=amount(100, 800), deadline=None)
def test_any_text_gives_a_document_or_diagnostics(text: str, reader: str) -> None:
    """So it is without libyaml, by the parser that is written in Python."""
    with pytest.MonkeyPatch.context() as patch:
        if reader == "python":
            patch.setattr(yaml, "__with_libyaml__", False)
        document, diagnostics = attempt(READERS.get(reader, read_yaml), text)

    assert (document is None) == bool(diagnostics)
    assert all(found.span is not None and found.message for found in diagnostics)
    if document is None:
        return
    for scalar in strings(document.root):
        for offset in range(-1, len(scalar.text) + 2):
            assert scalar.locate(offset, 3).line >= 1
    json.dumps(plain(document.root), allow_nan=False).encode("utf-8")


@pytest.mark.campaign
@given(st.binary(max_size=60))
@settings(max_examples=amount(100, 800), deadline=None)
def test_any_bytes_give_a_text_or_diagnostics(content: bytes) -> None:
    texts: list[str] = []
    with suppress(InvalidWorkflow):
        texts.append(read_text(content, "f"))

    assert all("\0" not in text and text.encode("utf-8") is not None for text in texts)
