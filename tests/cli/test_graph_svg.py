"""`whorl file graph --svg`: well-formed, complete, nothing runs or loads, nothing overlaps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whorl.dialects import read_workflow
from whorl.interfaces.diagrams.svg import Size, lay_out, place, reduced, svg
from whorl.ir import After, Block, Task, Workflow
from whorl.ir.walk import index_nodes
from whorl.services.project import find_project

if TYPE_CHECKING:
    from command_line import Whorl

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


def test_a_loop_is_a_box_around_its_steps_with_a_way_back() -> None:
    workflow = read_workflow(
        (ROOT / "examples" / "polish.yaml").read_text(), "polish.yaml"
    ).workflow
    root = drawing(svg(workflow))

    [loop] = [one for one in root.iter(f"{SPACE}g") if one.get("class") == "box loop"]
    inner = [one for one in loop if one.get("class") == "box step"]
    assert [words(one)[0] for one in inner] == ["write", "review"]
    paths = [one.get("class") for one in loop.findall(f"{SPACE}path")]
    assert sorted(map(str, paths)) == ["arrow", "arrow back"]


def test_an_arrow_says_when_it_counts() -> None:
    steps = (
        Task(name="a", kind="ask"),
        Task(name="b", kind="ask", after=(After("a"),)),
        Task(name="c", kind="ask", after=(After("b"), After("a", ("failed", "timed_out")))),
    )
    root = drawing(svg(Workflow(name="w", body=Block(steps))))

    assert "failed, timed_out" in words(root)
    assert len(root.findall(f".//{SPACE}path[@class='arrow']")) == 3


def test_what_follows_from_a_longer_way_is_not_drawn() -> None:
    assert reduced(4, [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]) == [(0, 1), (1, 2), (2, 3)]


def test_a_long_arrow_passes_beside_the_boxes_between() -> None:
    corners, paths, rows, _ = place([Size(100, 40)] * 3, [(0, 1), (1, 2), (0, 2)])

    assert all(x > corners[1][0] + 100 for x, _ in paths[2][2:-1])
    assert len(paths[2]) > len(paths[0]) == len(paths[1])
    assert [len(row) for row in rows] == [1, 1, 1]


def test_graph_writes_a_file(whorl: Whorl, project: Path) -> None:
    assert drawing(whorl("file graph polish.yaml --svg").out).tag == f"{SPACE}svg"
    write = "file graph polish.yaml --svg -o polish.svg"
    assert whorl(write).ends(0, "wrote polish.svg").out == ""
    assert "polish" in words(drawing((project / "polish.svg").read_text()))
    whorl(write).ends(0)
    whorl("file graph polish.yaml --svg -o made/polish.svg").ends(0)
    whorl("file graph polish.yaml -o ./polish.yaml").ends(2)
    assert (project / "polish.yaml").read_text().startswith("\nwhorl: 1")
