"""Calls of other files: opened beside the caller, read by their own dialect, never in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl.dialects import ProjectFiles, Reading, read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.errors import Diagnostic

POLISH = """\
whorl: 1
name: polish
inputs: {text: string, tone: string?}
steps: {w: {ask: "{{ text }}"}}
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".yaml").write_text(text)


def load(folder: Path, name: str = "main.yaml") -> Reading:
    path = folder / name
    return read_workflow(path.read_text(), str(path), ProjectFiles(str(folder)))


def test_the_budget_of_a_called_file_is_warned_about(tmp_path: Path) -> None:
    text = "whorl: 1\nsteps: {p: {call: polish.yaml, with: {text: Hi}}}\n"
    write(tmp_path, main=text, polish=POLISH + "budget: 0.5\n")

    told = load(tmp_path).warnings

    assert [(one.code, one.span and one.span.line) for one in told] == [("W023", 2)]
    assert "budget of workflow 'polish' has no effect" in told[0].message


def wrong(folder: Path, name: str = "main.yaml") -> tuple[Diagnostic, ...]:
    with pytest.raises(InvalidWorkflow) as caught:
        load(folder, name)
    return caught.value.diagnostics


def test_circles_and_long_chains_are_refused(tmp_path: Path) -> None:
    files = {f"f{n}": f"whorl: 1\nsteps: {{a: {{call: f{n + 1}.yaml}}}}\n" for n in range(30)}
    write(
        tmp_path,
        main="whorl: 1\nsteps: {a: {call: other.yaml}}\n",
        other="whorl: 1\nsteps: {b: {call: main.yaml}}\n",
        self="whorl: 1\nsteps: {a: {call: ./self.yaml}}\n",
        f30=POLISH,
        **files,
    )

    for name, code in (("main.yaml", "W011"), ("self.yaml", "W011"), ("f0.yaml", "W002")):
        assert [diagnostic.code for diagnostic in wrong(tmp_path, name)] == [code]


def test_mistakes_of_called_files_are_reported_in_their_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='whorl: 1\nsteps: {a: {call: bad.yaml}, b: {call: bad.yaml}, c: {ask: "{{ x }}"}}\n',
        bad="whorl: 1\nsteps: {b: {aks: Hi}}\n",
    )
    found = wrong(tmp_path)

    assert [(d.code, str(d.span).rpartition("/")[2]) for d in found] == [
        ("W004", "bad.yaml:2:13"),
        ("W005", "main.yaml:2:64"),
    ]


LOCAL = """\
whorl: 1
steps: {go: {call: polish, with: {text: a}}}
workflows:
  polish:
    inputs: {text: string}
    steps: {w: {ask: "{{ text }}"}}
"""


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("with: {text: a}", "with: {txet: a}", "W004", 2),
        (", with: {text: a}", "", "W006", 2),
        ("{{ text }}", "{{ txet }}", "W005", 6),
        ('{ask: "{{ text }}"}', "{call: polish, with: {text: a}}", "W011", 2),
        ("polish:\n", "polish: 5\n  other:\n", "W007", 4),
    ],
)
def test_workflows_in_a_file_are_checked(before: str, after: str, code: str, line: int) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(LOCAL.replace(before, after), "main.yaml")

    assert (code, line) in [(d.code, d.span and d.span.line) for d in caught.value.diagnostics]


def test_two_workflows_of_one_name_are_refused(tmp_path: Path) -> None:
    other = LOCAL.replace("{{ text }}", "Other {{ text }}")
    main = "whorl: 1\nsteps: {a: {call: one.yaml}, b: {call: two.yaml}}\n"
    write(tmp_path, one=LOCAL, two=other, main=main)

    assert [diagnostic.code for diagnostic in wrong(tmp_path)] == ["W012"]
