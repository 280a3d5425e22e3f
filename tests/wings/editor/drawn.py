"""Files and random operations for the tests of editing, and what became of each operation."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects.files import NoFiles, ProjectFiles, UnsavedFiles
from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.source import Mapping, Scalar, Sequence
from whorl.source.editing.editor import Editor
from whorl.source.editing.shapes import Path as Indexes
from whorl.source.editing.shapes import shape_of
from whorl.source.editing.text import UNEXACT, apply
from whorl.wings.editor.kit.changes import Edited, edit, open_text
from whorl.wings.editor.kit.operations import read_operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from whorl.source import Value


ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("WHORL_SHARED", ROOT.parent / "shared"))
ENDINGS = (".yaml", ".yml", ".json")
ODD: list[Any] = [
    "x", "", "a: b", "# no", "it's", 'say "hi"', "line\nline two\n", "tab\there", "  lead",
    "trail ", "{{ x }}", "- a", "*a", "&b", "!t", "%d", "@a", "1", "1.0", "true", "null", "~",
    "é 😀 ü", "a\n\n  b\n\n", "\n", "back\\slash", 0, -7, 1.5, True, False, None, [], {}, [1, 2],
    ["a", "b: c"], {"k": "v", "n": {"m": [1]}}, [{"a": 1}, {"b": []}], "multi\nno end", "x #y",
]  # fmt: skip


def own_files() -> list[tuple[str, Path]]:
    """The examples and templates of the project, with their dialects."""
    found = [("native", path) for path in (ROOT / "src/whorl/templates/native").glob("*.yaml")]
    found += [("studio", path) for path in (ROOT / "src/whorl/templates/studio").glob("*.json")]
    found += [("native", ROOT / "examples" / "polish.yaml")]
    for path in (ROOT / "examples").glob("*/*"):
        if path.suffix in ENDINGS and ".test." not in path.name:
            found.append((path.parent.name, path))
    return sorted(found)


def corpora() -> list[tuple[str, Path]]:
    """The public files of other systems, where they lie beside the project."""
    folder = SHARED / "corpora"
    files = folder.rglob("*") if folder.exists() else ()
    return sorted(
        (path.relative_to(folder).parts[0], path) for path in files if path.suffix in ENDINGS
    )


def read(path: Path) -> str:
    return path.read_bytes().decode()


def apply_to(text: str, *operations: dict[str, Any], file: str = "a.yaml") -> Edited:
    """A text with operations applied to it."""
    return edit(text, file, read_operations(operations), NoFiles())


def refusal_of(work: Callable[[], object]) -> Diagnostic:
    """Why an edit is refused, which must be."""
    try:
        work()
    except EditRefused as fault:
        return fault.diagnostic
    raise AssertionError("it was not refused")


def editor(text: str, file: str) -> Editor:
    is_json = file.endswith(".json")
    return Editor(text, lambda source: parse(source, file, lenient=True), is_json=is_json)


def places(value: Value, path: Indexes = ()) -> Iterator[Indexes]:
    """The paths of all entries and items."""
    if isinstance(value, Scalar):
        return
    children = value.items if isinstance(value, Sequence) else [one.value for one in value]
    for index, child in enumerate(children):
        yield (*path, index)
        if not value.layout.places[index].is_alias:
            yield from places(child, (*path, index))


def change(edited: Editor, rng: Random) -> str:
    """Makes one random change of a text; gives its word."""
    paths = list(places(edited.now.root))
    path = rng.choice(paths)
    word = rng.choice(["put", "cut", "insert", "rename", "move"])
    containers = [(), *(p for p in paths if not isinstance(edited.now.value(p), Scalar))]
    target = rng.choice(containers)
    holder = edited.now.value(target)
    if word == "put":
        edited.put(path, rng.choice(ODD))
    elif word == "cut":
        edited.cut(path)
    elif word == "insert":
        assert isinstance(holder, Mapping | Sequence)
        name = rng.choice(["zz", "z z", "1", "x:y"]) if isinstance(holder, Mapping) else None
        edited.insert(target, rng.randint(0, len(holder)), name, rng.choice(ODD))
    elif word == "rename":
        if isinstance(edited.now.value(path[:-1]), Mapping):
            edited.rename(path, rng.choice(["zz", "z z", "true", "12", "a: b", "é"]))
    else:
        piece = edited.cut(path)
        kind = Sequence if piece.name is None else Mapping
        inside = [p for p in places(edited.now.root) if isinstance(edited.now.value(p), kind)]
        if inside:
            into = rng.choice(inside)
            children = edited.now.value(into)
            assert isinstance(children, Mapping | Sequence)
            edited.paste(into, rng.randint(0, len(children)), piece)
    return word


def try_changes(files: list[tuple[str, Path]], rng: Random, count: int) -> Counter[tuple[str, str]]:
    """Changes files at random; counts what became of the changes."""
    told: Counter[tuple[str, str]] = Counter()
    for dialect, path in files:
        text = read(path)
        try:
            editor(text, path.name)
        except (InvalidWorkflow, EditRefused):
            continue
        for _ in range(count):
            edited = editor(text, path.name)
            try:
                change(edited, rng)
            except EditRefused as fault:
                told[dialect, _refusal(fault)] += 1
                continue
            told[dialect, _outcome(edited, text)] += 1
    return told


def _refusal(fault: EditRefused) -> str:
    """What a rule forbids (a name that is taken, say) is told apart from what could not be done."""
    return "refused" if fault.diagnostic.code == UNEXACT else "ruled out"


def _outcome(edited: Editor, text: str) -> str:
    if apply(text, edited.patches()) != edited.text:
        return "wrong"
    if (
        shape_of(parse(edited.text, edited.now.document.file, lenient=True).root)
        != edited.now.shape
    ):
        return "wrong"
    return "exact"


def operation(nodes: list[Any], rng: Random, ending: str) -> dict[str, Any]:
    """One random operation on the steps of a file."""
    node = rng.choice(nodes)
    word = rng.choice(
        ["set", "unset", "rename", "wrap", "unwrap", "remove", "move", "place", "add", "extract"]
    )
    match word:
        case "set":
            fields = node.fields if isinstance(node.fields, dict) and node.fields else {"zz": 1}
            return {"operation": word, "at": node.path, "field": [rng.choice(list(fields))],
                    "value": rng.choice(ODD)}  # fmt: skip
        case "unset":
            fields = node.fields if isinstance(node.fields, dict) and node.fields else {"zz": 1}
            return {"operation": word, "at": node.path, "field": [rng.choice(list(fields))]}
        case "rename":
            name = rng.choice(["zz", "re-named", "a b", nodes[0].name])
            return {"operation": word, "at": node.path, "name": name}
        case "wrap":
            kind = rng.choice(["repeat", "each", "together", "if"])
            beside = [one.path for one in nodes if one.parent == node.parent]
            first = beside.index(node.path)
            at = beside[first : first + rng.randint(1, 3)]
            return {"operation": word, "at": at, "kind": kind, "name": "zz_loop"}
        case "move":
            holders = ["", *(one.path for one in nodes if one.slots)]
            more = {} if rng.random() < 0.5 else {"after": None}
            return {"operation": word, "at": node.path, "into": rng.choice(holders), **more}
        case "extract":
            return {"operation": word, "at": node.path, "file": f"zz-part{ending}"}
        case "place":
            return {"operation": word, "at": node.path, "x": rng.randint(-9, 9), "y": 1.5}
        case "add":
            holders = ["", *(one.path for one in nodes if one.slots)]
            kind = rng.choice(["ask", "repeat", "llm", "loop", "agent", "shell"])
            return {"operation": word, "into": rng.choice(holders), "kind": kind}
    return {"operation": word, "at": node.path}


def try_operations(
    files: list[tuple[str, Path]], rng: Random, count: int
) -> Counter[tuple[str, str]]:
    """Applies operations to files at random; counts what became of them."""
    told: Counter[tuple[str, str]] = Counter()
    for dialect, path in files:
        text, around = read(path), ProjectFiles(str(path.parent))
        try:
            _, changes = open_text(text, str(path), around)
        except EditRefused:
            continue
        nodes = list(changes.sketch.nodes)
        is_valid = not [one for one in changes.check(text) if one.severity == "error"]
        for _ in range(count if nodes else 0):
            written = operation(nodes, rng, path.suffix)
            try:
                told[dialect, _applied(text, str(path), written, around, is_valid)] += 1
            except EditRefused as fault:
                told[dialect, _refusal(fault)] += 1
    return told


def _applied(
    text: str, file: str, written: dict[str, Any], around: ProjectFiles, is_valid: bool
) -> str:
    edited = edit(text, file, read_operations([written]), around)
    if apply(text, edited.patches) != edited.text:
        return "wrong"
    if is_valid and written["operation"] in ("rename", "wrap", "unwrap", "place", "extract"):
        _, after = open_text(edited.text, file, UnsavedFiles(around, file, edited.others))
        if [one for one in after.check(edited.text) if one.severity == "error"]:
            return "wrong"
    return "exact"


OUTCOMES = ("exact", "refused", "ruled out", "wrong")


def shares(told: Counter[tuple[str, str]]) -> dict[str, dict[str, float]]:
    """By dialect: what became of operations, and which share of the permitted ones is exact."""
    lines: dict[str, dict[str, float]] = {}
    for dialect in sorted({dialect for dialect, _ in told}):
        counts = {word: told[dialect, word] for word in OUTCOMES}
        tried = sum(counts.values()) - counts["ruled out"]
        share = round(100 * counts["exact"] / tried, 2) if tried else 100.0
        lines[dialect] = {"all": sum(counts.values()), **counts, "share": share}
    return lines
