"""Operations on canvases and graphs: ids, edges, containers, mappings, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from drawn import ROOT, apply_to, read, refusal_of

from whorl.dialects import read_workflow

if TYPE_CHECKING:
    from whorl.wings.editor.kit.changes import Edited

STUDIO = ROOT / "src/whorl/templates/studio/self-refine.json"
SHODAN = ROOT / "examples/shodan/review.yaml"


def apply(path: Any, *operations: dict[str, Any], text: str = "") -> Edited:
    return apply_to(text or read(path), *operations, file=path.name)


def test_a_container_is_taken_away_and_put_around_the_nodes_again() -> None:
    bare = apply(STUDIO, {"operation": "unwrap", "at": "refine"})
    wrap = {"operation": "wrap", "at": ["write", "critic", "merge"], "kind": "repeat"}
    again = apply(STUDIO, {**wrap, "name": "refine"}, text=bare.text)

    before = read_workflow(read(STUDIO), STUDIO.name).workflow
    after = read_workflow(again.text, STUDIO.name).workflow
    assert {node.path for node in again.sketch.nodes if node.parent} == {
        "refine/write", "refine/critic", "refine/merge", "refine/exit"
    }  # fmt: skip
    assert [name for name, _ in before.outputs] == [name for name, _ in after.outputs]


GRAPH = """\
version: 1
metadata: {name: graph}
nodes:
  - {id: a, position: {x: 0, y: 0}, data: {nodeType: agent, prompt: One}}
  - {id: b, position: {x: 240, y: 0}, data: {nodeType: agent, prompt: Two}}
  - {id: c, position: {x: 240, y: 100}, data: {nodeType: agent, prompt: Three}}
  - id: old
    position: {x: 0, y: 400}
    data:
      nodeType: loop
      continueWhile: {output: d.x, operator: ==, value: 1}
      inlineWorkflow:
        nodes:
          - {id: d, position: {x: 0, y: 0}, data: {nodeType: agent, prompt: Four}}
          - {id: e, position: {x: 300, y: 0}, data: {nodeType: agent, prompt: Five}}
        edges: []
edges:
  - {id: e1, source: a, target: b}
"""


@pytest.mark.parametrize(
    ("kind", "place", "wanted"),
    [
        # On the edge between two nodes: below all that its rim would cover.
        ("loop", {"x": 120, "y": 0}, (120, 640)),
        # Over the inside of another loop, which is wider than the node says.
        ("loop", {"x": 400, "y": 420}, (400, 640)),
        # Where there is room it stays.
        ("loop", {"x": 600, "y": 0}, (600, 0)),
        # Without a place it stands right of wide loops.
        ("agent", None, (580, 400)),
    ],
)
def test_a_new_node_covers_no_other_one(kind: str, place: Any, wanted: Any) -> None:
    operation = {"operation": "add", "into": "", "kind": kind}
    operation |= {"place": place} if place else {}
    edited = apply_to(GRAPH, operation)

    new = edited.sketch.node(kind)
    assert new is not None
    assert new.position == wanted


def test_a_loop_from_the_palette_brings_its_exit_and_splits_an_edge() -> None:
    edge = {"from": {"at": "task"}, "to": {"at": "refine"}}
    loop = {"operation": "add", "into": "", "kind": "loop", "name": "more", "on_edge": edge}
    inner = {"from": {"at": "more"}, "to": {"at": "more/exit"}}
    node = {"operation": "add", "into": "more", "kind": "llm", "name": "inside", "on_edge": inner}
    edited = apply(STUDIO, loop, node)

    parents = {node.path: node.parent for node in edited.sketch.nodes}
    assert parents["more/inside"] == "more"
    assert read_workflow(edited.text, STUDIO.name).workflow


@pytest.mark.parametrize(
    ("path", "operation", "code"),
    [
        (STUDIO, {"operation": "connect", "from": {"at": "text"}, "to": {"at": "task"}}, "C107"),
        (STUDIO, {"operation": "remove", "at": "refine/write"}, "C106"),
        (STUDIO, {"operation": "rename", "at": "task", "name": "text"}, "W012"),
        (SHODAN, {"operation": "remove", "at": "review-loop/review"}, "C106"),
        (SHODAN, {"operation": "move", "at": "review-loop/review", "into": ""}, "C106"),
        (SHODAN, {"operation": "wrap", "at": "review-loop", "kind": "each"}, "W005"),
    ],
)
def test_what_a_canvas_cannot_say_is_refused(path: Any, operation: Any, code: str) -> None:
    assert refusal_of(lambda: apply(path, operation)).code == code


def test_a_second_edge_into_an_input_is_refused() -> None:
    loop = "review-loop"
    added = {"operation": "add", "into": loop, "kind": "constant", "name": "k"}
    ends = {"from": {"at": f"{loop}/k", "port": "value"}, "to": {"at": f"{loop}/review"}}
    ends["to"]["port"] = "code"

    assert refusal_of(lambda: apply(SHODAN, added, {"operation": "connect", **ends})).code == "C107"


STEPS = """\
$schema: workflow/v2.0
name: w
steps:
  - {name: a, template: x}
  - {name: b, template: y, needs: [a]}
"""


def lists(text: str, file: str, **operation: Any) -> str:
    return apply_to(text, operation, file=file).text


def test_a_step_that_others_need_in_a_list_changes_places() -> None:
    text = STEPS + "  - {name: c, template: z, needs: [b, a]}\n"

    moved = lists(text, "a.yaml", operation="move", at="a", into="")

    assert moved.index("name: c") < moved.index("name: a")
    assert moved.count("needs: [") == 2
