"""Who reads a step, by the reader's own scopes, and how a step is spelled from elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.context import NAMES, RESULTS, Context
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import read_file
from whorl.errors import InvalidWorkflow
from whorl.ir.checks.scopes import Use, uses_in
from whorl.ir.walk import blocks_of, names_given
from whorl.language import LanguageError, free_names
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.wings.editor.kit.sketch import Keys, at, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.reader import Files
    from whorl.ir.nodes import Block, Node
    from whorl.language import NameUse
    from whorl.source import Document

_PLAIN = re.compile(NAMES["plain"])
_TOKEN = re.compile(
    r"\s*\.\s*(?P<member>[A-Za-z_]\w*)|\s*\[\s*(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\""
    r"|(?P<index>-?\d+))\s*\]"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
# What the facts of a loop read of its iterations, with how many keys come before a step's name.
_ITERATIONS = {"previous": 0, "best": 0, "history": 1}


@dataclass(frozen=True, slots=True)
class Reader:
    """One text that reads steps: each of `chain` is a step in the result of the one before.

    `start` and `end` are the offsets of their names in the text; `fixed` tokens stand before them
    (`results`, `previous`). `spans` has the offsets of each name alone.
    """

    where: Keys
    viewer: str
    chain: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    fixed: str = ""
    loop: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A field that names a step by itself: `after`, `of`, `branch`, `break`, `continue`."""

    where: Keys
    viewer: str
    target: str
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A name that a text reads: where, from which step, and whose it is, where a node's."""

    where: Keys
    viewer: str
    name: NameUse
    offset: int
    origin: Node | None


class Names:
    """The readers of all steps of a file, as far as it can be read."""

    def __init__(self, document: Document, files: Files) -> None:
        self.readers: list[Reader] = []
        self.vague: list[tuple[Keys, str]] = []
        self.uses: list[NamePlace] = []
        self.paths: dict[int, str] = {}
        self._texts: dict[int, Keys] = dict(_texts(document.root, ()))
        self.workflow: ir.Workflow | None = None
        context = Context(document, files, kinds=KINDS)
        try:
            self.workflow = workflow = read_file(context, is_checked=False)
        except InvalidWorkflow:
            return
        self._name_paths(workflow.body, "")
        for use in uses_in(workflow):
            place = context.places.text(use.expression)
            if place is not None and id(place[0]) in self._texts:
                self._read(use, *place)

    def _name_paths(self, block: Block, address: str) -> None:
        for node in block.nodes:
            path = joined(address, node.name)
            self.paths[id(node)] = path
            for _, inner in blocks_of(node):
                self._name_paths(inner, path)

    def _read(self, use: Use, scalar: Scalar, start: int) -> None:
        try:
            names = free_names(use.expression)
        except LanguageError:
            return
        where = self._texts[id(scalar)]
        for name in names:
            offset, origin = start + name.offset, use.view.origin(name.name)
            self.uses.append(NamePlace(where, _address(use.path), name, offset, origin))
            reader = self._reader(use, name, scalar.text, start)
            if reader is None:
                continue
            if not reader.chain:
                # What is read of all iterations at once may name steps in ways that are not seen.
                self.vague.append((where, reader.loop))
            else:
                self.readers.append(_placed(reader, where))

    def _reader(self, use: Use, name: NameUse, text: str, start: int) -> Reader | None:
        tokens = _tokens(text, start + name.offset, name)
        node, keys, fixed, loop = use.view.origin(name.name), list(name.path), 0, ""
        if name.name == RESULTS and keys:
            node, fixed = use.view.origin(str(keys[0])), 1
            keys = keys[1:]
        elif isinstance(node, ir.Loop) and name.name != node.name:
            fact = dict(node.facts).get(name.name)
            if fact not in _ITERATIONS:
                return None
            skipped = _ITERATIONS[fact]
            loop = self.paths.get(id(node), "")
            if len(keys) <= skipped:
                return Reader((), use.path, (), (), loop=loop)
            return self._chain(use, tokens, _below(node, keys[skipped:]), 1 + skipped, loop)
        if node is None or (isinstance(node, ir.ForEach) and name.name != node.name):
            return None
        steps = [(node, 0), *((inner, index + 1) for inner, index in _below(node, keys))]
        return self._chain(use, tokens, steps, fixed, loop)

    def _chain(
        self, use: Use, tokens: list[tuple[int, int]], steps: list[tuple[Node, int]],
        fixed: int, loop: str,
    ) -> Reader | None:  # fmt: skip
        """The reader of steps, each with how many tokens stand before its own behind the fixed."""
        places = [fixed + index for _, index in steps]
        chain = [self.paths.get(id(node), "") for node, _ in steps]
        if not steps or not all(chain) or places[-1] >= len(tokens):
            return None
        spans = tuple(tokens[place] for place in places)
        return Reader((), _address(use.path), tuple(chain), spans, "x" * fixed, loop)


def _placed(reader: Reader, where: Keys) -> Reader:
    return Reader(where, reader.viewer, reader.chain, reader.spans, reader.fixed, reader.loop)


def _address(path: str) -> str:
    """The path of a node without the slots of branches that it stands in."""
    return "/".join(part.partition("@")[0] for part in path.split("/"))


def _texts(value: Value, where: Keys) -> Iterator[tuple[int, Keys]]:
    """All scalars by their identity, with the keys that lead to them."""
    match value:
        case Scalar():
            yield id(value), where
        case Sequence():
            for index, item in enumerate(value):
                yield from _texts(item, (*where, index))
        case Mapping():
            for entry in value:
                yield from _texts(entry.value, (*where, entry.name))


def _below(node: Node, keys: list[str | int]) -> list[tuple[Node, int]]:
    """The steps that keys lead to in the result of a node, each with the index of its key."""
    found: list[tuple[Node, int]] = []
    for index, key in enumerate(keys):
        if isinstance(key, int):
            continue
        given = {name: inner for _, block in blocks_of(node) for name, inner in names_given(block)}
        if key not in given:
            break
        node = given[key]
        found.append((node, index))
    return found


def _tokens(text: str, offset: int, use: NameUse) -> list[tuple[int, int]]:
    """Where a name and each key of its path stand in a text, with dots and brackets."""
    found = _NAME.match(text, offset)
    if found is None or found.group() != use.name:
        return []
    tokens = [found.span()]
    for key in use.path:
        token = _TOKEN.match(text, tokens[-1][1])
        if token is None:
            break
        word = next((part for part in token.group("member", "single", "double") if part), None)
        if str(key) != (token["index"] or word):
            break
        tokens.append(token.span())
    return tokens


def part_behind(text: str, end: int) -> str:
    """The part of a result that is read behind an offset, where it has a plain name."""
    token = _TOKEN.match(text, end)
    return (token["member"] or "") if token else ""


def spelled(names: list[str], *, is_first: bool) -> str:
    """Names as an expression spells them, one in the result of the other."""
    text = ""
    for index, name in enumerate(names):
        if is_first and not index:
            text = name if _PLAIN.fullmatch(name) else f"{RESULTS}['{name}']"
        else:
            text += f".{name}" if _PLAIN.fullmatch(name) else f"['{name}']"
    return text


def mentions(steps: list[tuple[str, Keys, Value]]) -> Iterator[Mention]:
    """The fields that name steps; `steps` are all of the file, with their keys and texts."""
    known = {path for path, _, _ in steps}
    for path, where, step in steps:
        holder = path.rpartition("/")[0]
        yield from _named(at(step, "after"), (*where, "after"), path, holder)
        for word in ("break", "continue"):
            scalar = at(step, word)
            loop = _around(path, scalar.text, known) if isinstance(scalar, Scalar) else None
            if loop is not None:
                yield Mention((*where, word), path, loop)
        yield from _conditions(at(step, "repeat", "until"), (*where, "repeat", "until"), path)


def _around(path: str, name: str, known: set[str]) -> str | None:
    """The path of a step of this name around another one."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        around = "/".join(parts[:length])
        if parts[length - 1] == name and around in known:
            return around
    return None


def _named(value: Value | None, where: Keys, viewer: str, holder: str) -> Iterator[Mention]:
    """A name, a list of names, or names as keys."""
    match value:
        case Scalar() if isinstance(value.value, str):
            yield Mention(where, viewer, joined(holder, value.value))
        case Sequence():
            for index, item in enumerate(value):
                yield from _named(item, (*where, index), viewer, holder)
        case Mapping():
            for entry in value:
                yield Mention((*where, entry.name), viewer, joined(holder, entry.name), True)


def _conditions(value: Value | None, where: Keys, loop: str) -> Iterator[Mention]:
    """The steps of a loop's body that its conditions name without an expression."""
    if isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _conditions(item, (*where, index), loop)
    for entry in value if isinstance(value, Mapping) else ():
        inner = (*where, entry.name)
        of = at(entry.value, "of")
        if isinstance(of, Scalar) and isinstance(of.value, str):
            yield Mention((*inner, "of"), loop, joined(loop, of.value.strip()))
        if entry.name == "branch" and isinstance(entry.value, Mapping):
            for each in entry.value:
                yield Mention((*inner, each.name), loop, joined(loop, each.name), True)
        if entry.name in ("all", "any"):
            yield from _conditions(entry.value, inner, loop)
