"""Results as people read them: texts as texts, JSON folded, each answer under its own prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interfaces.formatting import changes

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


# A program that fails with a log of several lines, one of them the number of the try.
LOG = """
import sys
number = int(sys.argv[1])
print("F", "=== FAILURES ===", "# not a heading", sep="\\n")
print(f"assert {number} == 3", file=sys.stdout)
sys.exit(number != 3)
"""
GREEN = """
whorl: 1
name: green
steps:
  work:
    repeat:
      until: tests.exit_code == 0
      at_most: 5
      steps:
        tests: {{run: ["{python}", log.py, "{{{{ iteration }}}}"], check: false}}
"""
TOOLS = """
whorl: 1
name: tools
steps:
  find: {ask: "Find zip", tools: [look]}
"""
LOOK = """
def look(word):
    \"\"\"Looks a word up.\"\"\"
    return {"title": "Zip", "text": "first line\\nsecond line"}
"""


def add_tasks(project: Path, module: str, text: str, name: str) -> None:
    (project / f"{module}.py").write_text(text)
    with (project / "whorl.toml").open("a") as config:
        config.write(f'[tasks]\n{name} = "python:{module}:{name}"\n')


def reply(project: Path, match: str, *replies: str) -> None:
    with (project / "whorl.toml").open("a") as config:
        config.write(f'[[providers.canned.replies]]\nmatch = "{match}"\n')
        config.write(f"replies = [{', '.join(replies)}]\n")


def test_what_commands_printed_is_shown_in_lines_and_compared_by_line(
    whorl: Whorl, project: Path
) -> None:
    (project / "log.py").write_text(LOG)
    (project / "green.yaml").write_text(GREEN.format(python=sys.executable))
    with (project / "whorl.toml").open("a") as config:
        config.write("[allow]\ncommands = true\n")
    whorl("run green.yaml").ends(0)
    text = whorl("show", "last/work[1]/tests").out

    assert "    stdout:\n      F\n      === FAILURES ===\n" in text
    assert '    stderr: ""\n    exit_code: 1\n' in text
    assert "\\n" not in text
    whorl("show last/work[1]").prints("tests:\n  stdout:\n    F\n")
    text = whorl("diff last 1 3").out
    assert "\n-  assert 1 == 3\n+  assert 3 == 3\n" in text
    assert "\n~exit_code: 1 → 0\n" in text
    assert "\n   F\n" in text


def test_the_turns_of_a_tool_are_a_conversation(whorl: Whorl, project: Path) -> None:
    add_tasks(project, "look_tasks", LOOK, "look")
    call = '{calls = [{name = "look", arguments = {word = "zip"}}]}'
    reply(project, "Find", call, '"It is *Zip*"')
    (project / "tools.yaml").write_text(TOOLS)
    assert whorl("run", "tools.yaml").code == 0

    text = whorl("show", "last/find").out

    assert text.count("Find zip") == 1
    parts = ("  prompt:", "  wants look:", "  → find/:tool1  use", "    ←", "  answer:")
    places = [text.index(f"\n{part}") for part in parts]
    assert places == sorted(places)
    assert "      title: Zip\n      text:\n        first line\n        second line\n" in text
    assert "turns" not in text
    assert "    It is *Zip*" in text
    turn = whorl("show", "last/find/:turn2").out
    assert "  turns:\n    - role: assistant\n" in turn


def test_deep_and_long_values_are_folded(whorl: Whorl, project: Path) -> None:
    (project / "long.yaml").write_text(
        "whorl: 1\nsteps: {l: {repeat: {at_most: 1, steps: {v: {value: {n: "
        '"{{ range(100) | list }}", t: "1", u: "one"}}}}}}\n'
    )
    assert whorl("run", "long.yaml").code == 0

    text = whorl("show", "last/l[1]/v").out

    assert "    n:\n      - 0\n" in text
    assert "    … 80 more items\n" in text
    assert '    t: "1"\n    u: one\n' in text
    assert "    - 99\n" in whorl("show", "last/l[1]/v", "--full").out


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a\nb", "a\nb", []),
        ("draft one", "draft two\nmore", ["-draft one", "+draft two", "+more"]),
        ("x " * 50 + "end", "x " * 50 + "END\nmore", ["~" + "x " * 50 + "[-end-]{+END+}", "+more"]),
        ("x " * 50, "y " * 50, ["-" + "x " * 50, "+" + "y " * 50]),
        (1, "1", ['~1 → "1"']),
        (None, {"a": 1}, ['~null → {"a": 1}']),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}, "c": 1}, ["~a: b: [1, 2] → [1, 3]", "+c: 1"]),
        ([1, 2, 3], [1, 3], ["~[1, 2, 3] → [1, 3]"]),
        (["a", "b\nc"], ["b\nc"], ["-- a", " - b", "   c"]),
        ({"log": "a\nb\nc"}, {"log": "a\nB\nc"}, [" log:", "   a", "-  b", "+  B", "   c"]),
    ],
)  # fmt: skip
def test_how_values_differ(old: Any, new: Any, lines: list[str]) -> None:
    assert ["".join(change) for change in changes(old, new)] == lines
