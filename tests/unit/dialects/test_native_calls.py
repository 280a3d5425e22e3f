"""Calls of other files: opened beside the caller, read by their own dialect, never in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl import ir
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


def test_a_budget_that_does_not_count_is_told(tmp_path: Path) -> None:
    text = "whorl: 1\nsteps: {p: {call: polish.yaml, with: {text: Hi}}}\n"
    write(tmp_path, main=text, polish=POLISH + "budget: 0.5\n")

    told = load(tmp_path).warnings

    assert [(one.code, one.span and one.span.line) for one in told] == [("W023", 2)]
    assert "budget of workflow 'polish' does not count" in told[0].message


def wrong(folder: Path, name: str = "main.yaml") -> tuple[Diagnostic, ...]:
    with pytest.raises(InvalidWorkflow) as caught:
        load(folder, name)
    return caught.value.diagnostics


def test_a_called_file_is_read_with_its_inputs(tmp_path: Path) -> None:
    write(
        tmp_path,
        parts__polish=POLISH,
        main="whorl: 1\nsteps: {c: {call: parts/polish.yaml, with: {text: a}}}\n",
    )
    reading = load(tmp_path)
    call = reading.workflow.body.nodes[0]

    assert call == ir.Call(
        name="c",
        place="2:9",
        workflow="parts/polish.yaml",
        inputs=ir.Fields((("text", ir.Constant("a")),)),
    )
    assert [(key, called.name) for key, called in reading.workflow.workflows] == [
        ("parts/polish.yaml", "polish")
    ]
    assert reading.sources["parts/polish.yaml"] == POLISH


def test_files_are_named_relative_to_their_caller_and_kept_flat(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="whorl: 1\nsteps: {a: {call: parts/outer.yaml}, b: {call: parts/outer.yaml}}\n",
        parts__outer="whorl: 1\nsteps: {c: {call: ../polish.yaml, with: {text: a}}}\n",
        polish=POLISH,
    )
    workflow = load(tmp_path).workflow

    assert [key for key, _ in workflow.workflows] == ["polish.yaml", "parts/outer.yaml"]
    assert all(called.workflows == () for _, called in workflow.workflows)
    assert ir.from_json(ir.to_json(workflow)) == workflow


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ("{txet: a}", ["W004", "W006"], "did you mean 'text'"),
        ("{}", ["W006"], "'text'"),
        ("{text: a, tone: b}", [], ""),
    ],
)
def test_inputs_are_checked_against_the_called_file(
    tmp_path: Path, given: str, code: list[str], words: str
) -> None:
    main = f"whorl: 1\nsteps: {{c: {{call: polish.yaml, with: {given}}}}}\n"
    write(tmp_path, polish=POLISH, main=main)
    found = wrong(tmp_path) if code else ()

    assert [diagnostic.code for diagnostic in found] == code
    assert not found or words in f"{found[0].message} {found[0].help}"


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

    for name in ("main.yaml", "self.yaml", "f0.yaml"):
        assert [diagnostic.code for diagnostic in wrong(tmp_path, name)] == ["W017"]


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


@pytest.mark.parametrize(
    "reference",
    ["missing.yaml", "../x.yaml", "/etc/passwd", "~/x", "https://example.com/x.yaml", "a%2e", "."],
)
def test_only_files_of_the_project_are_opened(tmp_path: Path, reference: str) -> None:
    write(tmp_path, main=f'whorl: 1\nsteps: {{a: {{call: "{reference}"}}}}\n')
    found = wrong(tmp_path)

    assert [(d.code, d.span.line if d.span else 0) for d in found] == [("W016", 2)]


def test_without_files_no_call_is_possible() -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow("whorl: 1\nsteps: {a: {call: b.yaml}}", "a.yaml")

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["W016"]


def test_steps_behind_a_call_may_read_its_outputs_alone(tmp_path: Path) -> None:
    steps = "c: {call: polish.yaml, with: {text: a}}, d: {ask: '{{ c.w }}'}"
    write(tmp_path, polish=POLISH, main=f"whorl: 1\nsteps: {{{steps}}}\n")
    assert load(tmp_path).workflow.outputs[0][0] == "d"

    write(tmp_path, main=f"whorl: 1\nsteps: {{{steps.replace('c.w', 'c.ww')}}}\n")
    found = wrong(tmp_path)
    assert [(diagnostic.code, diagnostic.help) for diagnostic in found] == [("W005", "there is w")]


LOCAL = """\
whorl: 1
steps: {go: {call: polish, with: {text: a}}}
workflows:
  polish:
    inputs: {text: string}
    steps: {w: {ask: "{{ text }}"}}
"""


def test_a_workflow_may_stand_in_the_file_that_calls_it() -> None:
    workflow = read_workflow(LOCAL, "main.yaml").workflow
    called = dict(workflow.workflows)["polish"]

    assert (called.name, called.main_input, called.dialect) == ("polish", "text", "native")
    assert workflow.body.nodes[0] == ir.Call(
        name="go", place="2:9", workflow="polish", inputs=ir.Fields((("text", ir.Constant("a")),))
    )


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("with: {text: a}", "with: {txet: a}", "W004", 2),
        (", with: {text: a}", "", "W006", 2),
        ("{{ text }}", "{{ txet }}", "W005", 6),
        ('{ask: "{{ text }}"}', "{call: polish, with: {text: a}}", "W017", 2),
        ("polish:\n", "polish: 5\n  other:\n", "W007", 4),
    ],
)
def test_workflows_in_a_file_are_checked(before: str, after: str, code: str, line: int) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(LOCAL.replace(before, after), "main.yaml")

    assert (code, line) in [(d.code, d.span and d.span.line) for d in caught.value.diagnostics]


def test_two_workflows_of_one_name_are_told(tmp_path: Path) -> None:
    other = LOCAL.replace("{{ text }}", "Other {{ text }}")
    main = "whorl: 1\nsteps: {a: {call: one.yaml}, b: {call: two.yaml}}\n"
    write(tmp_path, one=LOCAL, two=other, main=main)

    assert [diagnostic.code for diagnostic in wrong(tmp_path)] == ["W012"]
