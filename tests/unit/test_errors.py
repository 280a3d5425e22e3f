"""Diagnostics as text and JSON, and the pages of the codes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.errors import Diagnostic, Span, as_json, safe
from whorl.explanations import MOVED_CODES, codes, explain
from whorl.interfaces.cli.diagnostics import render

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = Diagnostic(
    "W004",
    "loop 'refine' has no field 'max_iteration'",
    Span("review.yaml", 4, 5, 13),
    "unknown field",
    "did you mean 'max_iterations'?",
)
TEXT = "loops:\n  refine:\n    workflow: improve\n    max_iteration: 5\n"


@pytest.fixture(autouse=True, scope="module")
def _without_colors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        yield


def test_a_diagnostic_is_shown_with_its_line() -> None:
    expected = """\
error[W004]: loop 'refine' has no field 'max_iteration'
 --> review.yaml:4:5
  |
4 |     max_iteration: 5
  |     ^^^^^^^^^^^^^ unknown field
  = help: did you mean 'max_iterations'? Run `whorl help W004`"""

    assert render(UNKNOWN, TEXT) == expected


def test_wide_characters_and_tabs_keep_the_caret_in_place() -> None:
    shown = render(Diagnostic("W001", "no", Span("f", 1, 4, 2), "here"), "\t日e\u0301語ab").split(
        "\n"
    )

    assert shown[3] == "1 |     日e\u0301語ab"
    assert shown[4] == "  |        ^^ here"


def test_control_characters_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b[2Jb\x07\u202e\x9b\x7f"
    found = Diagnostic(hostile, hostile, Span(hostile, 1, 2), hostile, hostile)

    shown = render(found, hostile)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "␛[2J" in shown
    assert safe("a\nb\tc\ud800") == "a␊b c\ufffd"


def test_a_diagnostic_is_json() -> None:
    assert json.loads(json.dumps(as_json(UNKNOWN))) == {
        "code": "W004",
        "severity": "error",
        "message": "loop 'refine' has no field 'max_iteration'",
        "label": "unknown field",
        "help": "did you mean 'max_iterations'?",
        "span": {"file": "review.yaml", "line": 4, "column": 5, "length": 13},
    }
    assert as_json(Diagnostic("W023", "odd"))["span"] is None


@given(st.text(max_size=300), st.integers(1, 4), st.integers(1, 400), st.integers(1, 500))
@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None)
def test_any_text_can_be_shown(text: str, line: int, column: int, length: int) -> None:
    shown = render(Diagnostic("W001", text, Span("f", line, column, length), text), text)

    assert f" --> f:{line}:{column}" in shown
    assert len(shown.split("\n")) in {3, 6}


# Mistakes of packages, which no file can show.
OF_PROGRAMS = ("W025",)


@pytest.mark.parametrize("code", codes())
def test_every_page_says_what_happened_gives_an_example_and_says_what_to_do(code: str) -> None:
    page = explain(code)

    assert page is not None
    language = "yaml" if code.startswith("W0") and code not in OF_PROGRAMS else r"\w+"
    assert re.fullmatch(
        rf"# {code}: [^\n]+\n[^#\n].*?\n```{language}\n.+?\n```\n.+\n", page, re.DOTALL
    )
    assert not re.search(r"^(What|Why|Example|Fix):", page, re.MULTILINE)


def test_codes_that_moved_lead_to_one_that_is_there() -> None:
    assert not set(MOVED_CODES) & set(codes())
    assert {new for moved in MOVED_CODES.values() for new in moved.split("/")} <= set(codes())
    assert explain("w003") == "W003 is W012 now\n"
    assert explain("../errors") is None
