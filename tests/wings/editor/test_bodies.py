"""Steps go to files of their own, which are called, and come back: both texts as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from drawn import refusal_of

from whorl.dialects import ProjectFiles, read_workflow
from whorl.wings.editor.kit.changes import Edited, edit
from whorl.wings.editor.kit.operations import read_operations

if TYPE_CHECKING:
    from pathlib import Path

NATIVE = """\
whorl: 1
name: outer
model: scripted/one
inputs: {task: string}
steps:
  plan: {ask: "Plan {{ task }}"}

  # write until it is good
  polish:
    after: plan   # never before
    repeat:
      until: review.approved   # the reviewer says so
      at_most: 3
      carry: {feedback: "{{ review.feedback }}"}
      steps:
        write:
          ask: "Write {{ task }} by {{ plan }}. {{ feedback | default('') }}"
        review:
          ask: "Review {{ write }}"
          returns: {approved: boolean, feedback: string}
  # and tell
  report: {ask: "Report on {{ polish.write }} and {{ polish.review.feedback }}"}
outputs:
  text: "{{ report }}"
"""
BODY = """\
whorl: 1
name: body
model: scripted/one
inputs:
  task: string
  plan: any
steps:
  # write until it is good
  polish:
    repeat:
      until: review.approved   # the reviewer says so
      at_most: 3
      carry: {feedback: "{{ review.feedback }}"}
      steps:
        write:
          ask: "Write {{ task }} by {{ plan }}. {{ feedback | default('') }}"
        review:
          ask: "Review {{ write }}"
          returns: {approved: boolean, feedback: string}
outputs:
  result: "{{ polish }}"
"""


class Folder:
    """A project whose files are edited."""

    def __init__(self, root: Path) -> None:
        self.files, self.root = ProjectFiles(str(root)), root

    def apply(self, text: str, **operation: Any) -> Edited:
        return self.apply_all(text, operation)

    def apply_all(self, text: str, *operations: dict[str, Any]) -> Edited:
        return edit(text, str(self.root / "a.yaml"), read_operations(operations), self.files)

    def keep(self, edited: Edited) -> None:
        for name, text in edited.others.items():
            (self.root / name).write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_loop_goes_to_a_file_that_is_called_with_its_lines_as_they_are_and_back(
    folder: Folder,
) -> None:
    edited = folder.apply(NATIVE, operation="extract", at="polish", file="body.yaml")
    folder.keep(edited)

    start, end = NATIVE.index("  # write until"), NATIVE.index("  # and tell")
    assert edited.text.startswith(NATIVE[:start])
    rest = NATIVE[end:].replace("{{ polish.", "{{ polish.result.")
    assert edited.text.endswith(rest)
    assert "call: body.yaml" in edited.text
    assert edited.others == {"body.yaml": BODY}
    assert edited.select == ["polish"]
    assert read_workflow(edited.text, str(folder.root / "a.yaml"), folder.files).workflow

    again = folder.apply(edited.text, operation="inline", at="polish")
    assert "  polish:\n    after: plan   # never before\n    call: body.yaml\n" in edited.text
    assert (again.text, again.others) == (NATIVE, {})
    # The second of two operations knows the file of the first, which is not saved yet.
    out = {"operation": "extract", "at": "polish", "file": "other.yaml"}
    both = folder.apply_all(NATIVE, out, {"operation": "inline", "at": "polish"})
    assert "call" not in both.text


ENDS = "whorl: 1\nsteps:\n  a: {ask: One}\n  b: {ask: Two}\n"
SIDES = """\
whorl: 1
steps:
  side: {together: {a: {ask: One}, b: {ask: Two}}}
  c: {ask: "{{ a }} and {{ side.b }}", after: side}
outputs: {c: "{{ c }}"}
"""


@pytest.mark.parametrize(
    ("text", "at", "parts"),
    [
        (NATIVE, "plan", ["by {{ plan.result }}."]),
        (
            NATIVE,
            "polish/review",
            [
                "until: review.result.approved   # the reviewer says so",
                'carry: {feedback: "{{ review.result.feedback }}"}',
                "{{ polish.review.result.feedback }}",
            ],
        ),
        (SIDES, "side", ['{{ side.result.a }} and {{ side.result.b }}", after: side}']),
        # What the workflow gives stays the same.
        (ENDS, "b", ['outputs:\n  b: "{{ b.result }}"\n']),
    ],
)
def test_who_reads_or_waits_for_what_goes_names_the_call(
    folder: Folder, text: str, at: str, parts: list[str]
) -> None:
    out = folder.apply(text, operation="extract", file="new.yaml", at=at)
    folder.keep(out)

    assert [part for part in parts if part not in out.text] == []
    if at == "plan":
        assert folder.apply(out.text, operation="inline", at="plan").text == NATIVE


SKIPPED = """\
whorl: 1
inputs: {n: number}
steps:
  b: {ask: Two, if: n > 1}
  tries:
    repeat:
      until: {judge: "It is good."}
      at_most: 3
      steps:
        e: {ask: Five}
        f: {ask: Six, after: e}
"""


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        (NATIVE, "polish/write", "reads 'feedback', which the new file would not have"),
        (NATIVE, "none", "there is no step"),
        (NATIVE, ["plan", "polish"], "one step at a time"),
        (SKIPPED, "b", "b has an `if`"),
        (SKIPPED, "tries/f", "reads its last step without naming it"),
    ],
)
def test_what_would_mean_another_thing_elsewhere_stays(
    folder: Folder, text: str, at: str | list[str], words: str
) -> None:
    why = refusal_of(lambda: folder.apply(text, operation="extract", at=at, file="body.yaml"))
    assert words in why.message
    assert why.code == "C106" or " reads " not in words


def test_a_file_that_is_there_is_not_overwritten(folder: Folder) -> None:
    (folder.root / "body.yaml").write_text("whorl: 1\nsteps: {}\n")
    extract = {"operation": "extract", "at": "polish", "file": "body.yaml"}

    assert refusal_of(lambda: folder.apply(NATIVE, **extract)).code == "W012"
