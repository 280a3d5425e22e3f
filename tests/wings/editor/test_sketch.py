"""The picture of a file against the graph of the workflow that it is read as."""

from __future__ import annotations

import pytest
from drawn import ROOT, corpora, own_files, read

from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import EditRefused, InvalidWorkflow
from whorl.interfaces.http.workflows import graph_of
from whorl.wings.editor.kit.changes import open_text

DRAWN = ("native", "studio", "shodan")


@pytest.mark.parametrize("dialect", DRAWN)
def test_each_drawn_step_is_in_the_graph_with_its_holder(dialect: str) -> None:
    seen = 0
    for name, path in [*own_files(), *corpora()]:
        if name != dialect:
            continue
        text, files = read(path), ProjectFiles(str(path.parent))
        try:
            graph = graph_of(read_workflow(text, str(path), files).workflow)
            _, changes = open_text(text, str(path), files)
        except (InvalidWorkflow, EditRefused):
            continue
        nodes = {node.path: node.parent for node in graph.nodes}
        drawn = {
            node.path: node.parent
            for node in changes.sketch.nodes
            # These stand for the ports of what holds them, or for nothing that runs.
            if not node.kind.startswith("interface-") and node.kind != "note"
        }
        seen += len(drawn)

        assert {path: nodes.get(path) for path in drawn} == drawn, path

    assert seen > 10


def test_a_loop_over_items_has_the_ports_of_its_own_file() -> None:
    path = ROOT / "examples/shodan/titles.yaml"
    files = ProjectFiles(str(path.parent))
    graph = graph_of(read_workflow(read(path), str(path), files).workflow)

    [ports] = [node.ports for node in graph.nodes if node.path == "titles"]
    assert ports is not None
    assert (ports.inputs, ports.outputs) == (["texts"], ["titles"])
