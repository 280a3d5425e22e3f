"""The names in scope at a step: spelled as they are written there, with types and readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from drawn import ROOT, corpora, own_files, read

from whorl.dialects import NoFiles, ProjectFiles, read_workflow
from whorl.errors import EditRefused, InvalidWorkflow
from whorl.wings.editor.kit.changes import open_text

if TYPE_CHECKING:
    from whorl.wings.editor.kit.sketch import Name

FILE = """\
whorl: 1
budget: 1
inputs: {task: string}
steps:
  first-one: {ask: "{{ task }}"}
  polish:
    repeat:
      at_most: 3
      until: review.approved
      carry: {feedback: "{{ review.notes }}"}
      steps:
        write: {ask: "{{ task }} {{ nobody }}"}
        review:
          ask: "Look at {{ write }}."
          returns: {approved: boolean, notes: string}
  last: {ask: "{{ polish.write }}"}
"""


def names(text: str, file: str, path: str) -> dict[str, Name]:
    _, changes = open_text(text, file, NoFiles())
    return {name.name: name for name in changes.names_at(path)}


def test_a_step_sees_what_is_before_it_and_around_it() -> None:
    seen = names(FILE, "a.yaml", "polish/review")
    after = names(FILE, "a.yaml", "last")

    assert seen["write"].type == "text"
    assert seen["write"].step == "polish/write"
    assert [(one.path, one.field, one.line) for one in seen["write"].readers] == [
        ("polish/review", "ask", 14), ("last", "ask", 16)
    ]  # fmt: skip
    assert seen["task"].type == "text"
    assert "results['first-one']" in seen
    assert {"feedback", "iteration", "previous.review.notes", "best.write"} <= set(seen)
    assert not {"review", "last", "polish"} & set(seen)
    assert after["polish.review.approved"].type == "boolean"
    assert "write" not in after
    assert names(FILE, "a.yaml", "polish")["review.approved"].type == "boolean"


def test_a_node_of_a_canvas_sees_what_leads_to_it() -> None:
    path = ROOT / "src/whorl/templates/studio/self-refine.json"
    inside, outside = (names(read(path), path.name, at) for at in ("refine/merge", "text"))

    assert inside["write.output"].readers
    assert {"input", "iteration", "critic.output", "inputs.task"} <= set(inside)
    assert "write.output" not in outside
    assert "leave.output" in outside

    path = ROOT / "examples/shodan/review.yaml"
    seen = names(read(path), path.name, "review-loop/review")

    assert [seen["code"].type, seen["coder.code"].type] == ["text", "text"]
    assert seen["coder.code"].readers
    assert "iteration_count" in seen


def test_what_is_offered_can_be_read() -> None:
    """Every offered name, written into the step that it is offered to, is known to the reader."""
    checked = 0
    for dialect, path in own_files():
        text, files = read(path), ProjectFiles(str(path.parent))
        if dialect != "native" or "call:" in text:
            continue
        _, changes = open_text(text, str(path), files)
        for node in changes.sketch.nodes:
            if node.kind != "ask":
                continue
            every = "".join(f"{{{{ {name.name} }}}}" for name in changes.names_at(node.path))
            _, other = open_text(text, str(path), files)
            other.editor.set([*node.where, "ask"], every)
            found = other.check(other.editor.text)
            assert not [one for one in found if one.code == "W005"], (path, node.path)
            checked += 1
    assert checked > 5


@pytest.mark.parametrize("dialect", ["native", "studio", "shodan"])
def test_names_never_fail(dialect: str) -> None:
    def readable(path: Any) -> Any:
        try:
            read_workflow(read(path), str(path), ProjectFiles(str(path.parent)))
            return open_text(read(path), str(path), ProjectFiles(str(path.parent)))[1]
        except (InvalidWorkflow, EditRefused):
            return None

    for name, path in [*own_files(), *corpora()[::5]]:
        changes = readable(path) if name == dialect else None
        for node in changes.sketch.nodes[:5] if changes else ():
            assert isinstance(changes.names_at(node.path), list)
