"""Diagnostics as text and JSON, near names, and the pages of the codes."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.errors import Diagnostic, Span, as_json, did_you_mean, nearest, safe
from whorl.explanations import MOVED_CODES, codes, explain
from whorl.interfaces.cli.diagnostics import render, render_all

UNKNOWN = Diagnostic(
    "W004",
    "loop 'refine' has no field 'max_iteration'",
    Span("review.yaml", 4, 5, 13),
    "unknown field",
    "did you mean 'max_iterations'?",
)
TEXT = "loops:\n  refine:\n    workflow: improve\n    max_iteration: 5\n"


def test_a_diagnostic_is_shown_with_its_line() -> None:
    expected = """\
error[W004]: loop 'refine' has no field 'max_iteration'
 --> review.yaml:4:5
  |
4 |     max_iteration: 5
  |     ^^^^^^^^^^^^^ unknown field
  = help: did you mean 'max_iterations'? Run `whorl help W004`"""

    assert render(UNKNOWN, TEXT) == expected


def test_the_gutter_grows_with_the_line_number() -> None:
    shown = render(Diagnostic("W007", "no", Span("f", 120, 2), help="say yes"), "\n" * 119 + "abc")

    assert shown == (
        "error[W007]: no\n   --> f:120:2\n    |\n120 | abc\n    |  ^\n"
        "    = help: say yes. Run `whorl help W007`"
    )


def test_a_diagnostic_without_text_or_place_is_shown() -> None:
    assert render(UNKNOWN, None).splitlines()[1:] == [
        " --> review.yaml:4:5",
        "  = help: did you mean 'max_iterations'? Run `whorl help W004`",
    ]
    assert render(Diagnostic("W023", "odd", severity="warning"), TEXT) == (
        "warning[W023]: odd\n  = help: run `whorl help W023`"
    )
    assert len(render(UNKNOWN, "short").splitlines()) == 3


def test_color_changes_nothing_but_color() -> None:
    shown = render(UNKNOWN, TEXT, color=True)

    assert "\x1b[1;31m" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == render(UNKNOWN, TEXT)


@pytest.mark.parametrize("column", [1, 2, 60, 400, 1_500, 1_998])
@pytest.mark.parametrize("filler", ["ab", "日", "\t"])
def test_a_long_line_is_cut_around_the_caret(column: int, filler: str) -> None:
    line = filler * 2000
    line = f"{line[: column - 1]}XYZ{line[column - 1 : 1_997]}"

    _, _, _, source, carets, _ = render(
        Diagnostic("W001", "no", Span("f", 1, column, 3)), line
    ).split("\n")

    assert wide(source) <= 100
    assert carets.count("^") == 3
    assert wide(source[: source.index("XYZ")]) == carets.index("^")


def wide(text: str) -> int:
    return len(text) + text.count("日")


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


def test_all_diagnostics_are_shown_by_position_and_counted() -> None:
    later = Diagnostic("W004", "later", Span("review.yaml", 9, 1))
    odd = Diagnostic("W023", "odd", severity="warning")

    shown = render_all([odd, later, UNKNOWN, UNKNOWN], {"review.yaml": TEXT})

    assert shown.endswith("\n\n2 errors, 1 warning")
    assert shown.index("loop 'refine'") < shown.index("later") < shown.index("odd")
    assert shown.count("loop 'refine'") == 1
    assert render_all([], {}) == ""


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


NAMES = ["task", "until", "max_iterations", "if", "on", "steps", "repeat", "return", "on_limit"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("tsak", "task"), ("untill", "until"), ("Until", "until")),
        *(("maxIterations", "max_iterations"), ("max-iteration", "max_iterations")),
        *(("itermax", None), ("stpes", "steps"), ("step", "steps"), ("repaet", "repeat")),
        *(("retrun", "return"), ("onLimit", "on_limit"), ("of", None), ("until", None), ("", None)),
        *(("completely_different", None), ("x" * 5_000, None)),
    ],
)
def test_the_nearest_name_is_found(name: str, expected: str | None) -> None:
    assert nearest(name, NAMES) == expected


def test_the_nearest_of_several_wins() -> None:
    assert nearest("reviewr", ["reviews_all", "reviewer", "review"]) == "reviewer"
    assert did_you_mean("untill", NAMES) == "did you mean 'until'?"
    assert did_you_mean("zzz", NAMES) == ""


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


def test_the_catalogue_holds_the_codes_of_all_kinds() -> None:
    some = {"W001", "W023", "W903", "R100", "R906", "P100", "P112", "C101", "X101", "I900"}
    assert some <= set(codes())
    assert {code[0] for code in codes()} == set("WRPCXI")


def test_codes_that_moved_lead_to_one_that_is_there() -> None:
    assert not set(MOVED_CODES) & set(codes())
    assert {new for moved in MOVED_CODES.values() for new in moved.split("/")} <= set(codes())
    assert explain("w003") == "W003 is W012 now\n"


def test_unknown_codes_have_no_page() -> None:
    assert explain("w004") == explain("W004")
    assert explain("W999") is None
    assert explain("../errors") is None
    assert explain("__init__") is None
