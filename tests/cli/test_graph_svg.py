"""`whorl file graph --svg`: well-formed, complete, nothing runs or loads, nothing overlaps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whorl.interfaces.diagrams.svg import Size, lay_out, svg
from whorl.ir import Block, Task, Workflow
from whorl.ir.walk import index_nodes
from whorl.services.project import find_project

if TYPE_CHECKING:
    from whorl.interfaces.diagrams.svg import Area, Box

ROOT = Path(__file__).parents[2]
# Tests, experiments and settings stand beside workflows.
OTHERS = {"connections", "host", "parameters"}
FILES = [
    path
    for folder in (ROOT / "examples", ROOT / "src" / "whorl" / "templates")
    for path in sorted(folder.rglob("*"))
    if path.suffix in (".yaml", ".yml", ".json")
    if "." not in path.stem and path.stem not in OTHERS
]
NAMES = [str(path.relative_to(ROOT)) for path in FILES]
SPACE = "{http://www.w3.org/2000/svg}"


def drawing(text: str) -> ET.Element:
    return ET.fromstring(text)


def words(root: ET.Element) -> list[str]:
    return [(one.text or "").lstrip("↻⇉◇☺ ") for one in root.iter(f"{SPACE}text")]


def overlap(one: Box, other: Box) -> bool:
    (x, y), (to_x, to_y) = one.corner, other.corner
    apart_x = x + one.size.width <= to_x or to_x + other.size.width <= x
    apart_y = y + one.size.height <= to_y or to_y + other.size.height <= y
    return not (apart_x or apart_y)


def check(boxes: tuple[Box, ...], size: Size) -> None:
    """Boxes stand inside of what is around them, and beside each other."""
    for at, box in enumerate(boxes):
        x, y = box.corner
        assert x >= -0.1
        assert y >= -0.1
        assert x + box.size.width <= size.width + 0.1
        assert y + box.size.height <= size.height + 0.1
        assert not any(overlap(box, other) for other in boxes[at + 1 :])
        check(box.inner, box.size)


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_example_and_template_is_drawn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    workflow = find_project({}, store=None, config=None).read(path.name).workflow

    root = drawing(svg(workflow))
    area: Area = lay_out(workflow)

    assert root.tag == f"{SPACE}svg"
    assert {node.name for node in index_nodes(workflow).values()} <= set(words(root))
    check(area.boxes, area.size)


def test_names_stay_texts_and_nothing_runs_or_loads() -> None:
    name = '<script>alert("1")</script>&\x00\x1b[31m\ufffe'
    text = svg(Workflow(name=name, description=name, body=Block((Task(name=name, kind="ask"),))))
    root = drawing(text)

    assert {one.tag.removeprefix(SPACE) for one in root.iter()} == {
        *("svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text")
    }
    assert any(said.startswith('<script>alert("1")</script>&') for said in words(root))
    assert "href" not in text
    assert "@import" not in text
    assert text.count("http") == 1
