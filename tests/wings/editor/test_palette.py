"""What can be added to files, and the names in scope at a step."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import corpora, own_files, read

from whorl.dialects import NoFiles, ProjectFiles, read_workflow
from whorl.errors import EditRefused, InvalidWorkflow
from whorl.wings.editor.kit.changes import changes_of, edit, open_text, palette
from whorl.wings.editor.kit.operations import read_operations

FILES = {"native": "new.yaml", "studio": "new.json", "shodan": "new.yaml"}
WIDGETS = {"text", "long text", "number", "choice", "boolean", "expression", "json"}
SPECIMENS = {"text": (str,), "long text": (str,), "number": (int, float), "boolean": (bool,)}


def kinds(dialect: str) -> list[dict[str, Any]]:
    return [kind for group in palette(dialect)["groups"] for kind in group["kinds"]]


KINDS = [(dialect, kind["kind"]) for dialect in FILES for kind in kinds(dialect)]


@pytest.mark.parametrize("dialect", FILES)
def test_every_kind_has_looks_ports_and_a_form(dialect: str) -> None:
    for kind in kinds(dialect):
        assert kind["icon"].replace("-", "").isalnum(), kind
        assert kind["colour"].startswith("#"), kind
        assert set(kind["ports"]) == {"inputs", "outputs"}
        for field in kind["form"]:
            assert field["type"] in WIDGETS, field
            assert bool(field["choices"]) == (field["type"] == "choice"), field
            assert field["label"][0].isupper(), field
            assert "_" not in field["label"], field
            if field["default"] is not None and field["type"] in SPECIMENS:
                assert isinstance(field["default"], SPECIMENS[field["type"]]), field
            if field["default"] is not None and field["choices"]:
                assert field["default"] in field["choices"], field


@pytest.mark.parametrize(("dialect", "kind"), KINDS)
def test_every_kind_can_be_added_to_an_empty_file(dialect: str, kind: str) -> None:
    file, empty = FILES[dialect], changes_of(dialect).empty
    operation = {"operation": "add", "into": "", "kind": kind, "name": "added"}

    edited = edit(empty, file, read_operations([operation]), NoFiles())
    _, changes = open_text(edited.text, file, NoFiles())

    assert edited.sketch.node("added") is not None
    assert edited.sketch.node("added").kind == kind  # type: ignore[union-attr]
    for found in changes.check(edited.text):
        assert found.message
        assert found.span is not None or found.help


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
