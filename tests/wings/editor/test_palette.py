"""What can be added to files: complete in looks, forms and ports, and all of it can be added."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.dialects import NoFiles
from whorl.formats.studio.canvas import KINDS as STUDIO
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


def test_the_canvas_has_its_loop_and_exit_last_in_logic() -> None:
    groups = {group["title"]: group["kinds"] for group in palette("studio")["groups"]}
    by_kind = {kind["kind"]: kind for kind in kinds("studio")}

    assert [kind["title"] for kind in groups["LOGIC"]] == [
        "Approval", "Transform", "Validator", "Iterator", "Aggregator", "Loop", "Exit"
    ]  # fmt: skip
    assert (by_kind["loop"]["icon"], by_kind["loop"]["colour"]) == ("repeat", "#4a2a6a")
    assert (by_kind["exit"]["icon"], by_kind["exit"]["colour"]) == ("log-out", "#4a2a6a")
    assert by_kind["loop"]["ports"] == {
        "inputs": ["input"], "outputs": ["output", "iterations", "count"]
    }  # fmt: skip
    assert by_kind["shell_exec"]["needs"] == "[allow] commands"
    for kind, described in by_kind.items():
        fields = [field["field"][1] for field in described["form"]]
        assert set(fields) == {"label", *(STUDIO[kind].fields or "").split()}, kind


def test_a_default_is_what_the_reader_takes_where_nothing_is_written() -> None:
    form = {".".join(field["field"]): field for kind in kinds("native") for field in kind["form"]
            if kind["kind"] == "repeat"}  # fmt: skip

    assert form["repeat.at_most"]["default"] == 10
    assert form["repeat.return"]["default"] == "last"
    assert form["repeat.on_limit"]["default"] == "finish"
    assert form["repeat.memory"]["group"] == "more"
    assert form["repeat.until"]["type"] == "expression"
