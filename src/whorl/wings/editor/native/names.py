"""Who reads a step, by the reader's own scopes, and how a step is spelled from elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from whorl import ir
from whorl.dialects.native.context import NAMES, RESULTS, Context
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import read_file
from whorl.dialects.reader import files_beside
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.ir.checks.scopes import Use, uses_in
from whorl.ir.walk import blocks_of, names_given
from whorl.language import LanguageError, free_names
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.wings.editor.kit.names import Rewired, owner_of
from whorl.wings.editor.kit.operations import READ
from whorl.wings.editor.kit.sketch import Keys, Sketch, at, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.reader import Files
    from whorl.ir.nodes import Block, Node
    from whorl.language import NameUse
    from whorl.source import Document
    from whorl.wings.editor.kit.changes import Changes

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


# Readers of steps follow them: each name is spelled as the new place of its step needs it.

_CLOSED = ("repeat", "each")
_LEAVE = "change the reader first, or use `readers: leave`"


class Rewiring:
    """Who reads which step, taken before a change, to be told of it afterwards."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._before = changes.sketch
        document = changes.editor.now.document
        self._root = document.root
        self._names = Names(document, files_beside(changes.files, changes.file))
        steps = [(node.path, node.where, self._value(node.where)) for node in self._before.nodes]
        self._mentions = [m for m in mentions(steps) if self._before.node(m.target) is not None]
        self._moved: dict[str, str] = {}
        self._noted: list[tuple[Keys, str]] = []

    def _value(self, where: Keys) -> Value:
        value = at(self._root, *where)
        assert value is not None
        return value

    def release(self, path: str) -> None:
        """Refuses to remove a step that others read; orders that name it are taken back."""
        for reader in self._names.readers:
            if not _is_in(reader.viewer, path) and any(_is_in(step, path) for step in reader.chain):
                self._refuse(reader.where, f"{reader.viewer or 'the workflow'} reads {path}")
        for mention in reversed(self._mentions):
            if _is_in(mention.viewer, path) or not _is_in(mention.target, path):
                continue
            if "after" not in mention.where:
                self._refuse(mention.where, f"{mention.viewer} names {path}")
            node = self._before.node(mention.viewer)
            assert node is not None
            self._changes.editor.unset(list(mention.where), keeps=len(node.where))
            self._note(mention.where, mention.viewer)
        self._list_rewired()

    def leave(self, path: str) -> None:
        """Lists those who read a step that is not there any more."""
        self._names.readers = [r for r in self._names.readers if not _is_in(r.viewer, path)]
        self._mentions = [one for one in self._mentions if not _is_in(one.viewer, path)]
        self._list_left(path)

    def _list_left(self, gone: str) -> None:
        """Lists whom a change has left as they are, though they read what has changed."""

        def is_changed(step: str) -> bool:
            return self._new(step) != step or (bool(gone) and _is_in(step, gone))

        for reader in self._names.readers:
            if any(map(is_changed, reader.chain)):
                self._note(reader.where, reader.viewer)
        for mention in self._mentions:
            if is_changed(mention.target):
                self._note(mention.where, mention.viewer)
        self._list_rewired()

    def rewire(self, moved: dict[str, str], *, gone: str = "") -> None:
        """Patches all readers of steps that have another path by now."""
        self._moved = moved
        after = self._changes.sketch
        if gone:
            # What a holder says itself goes with it.
            kept = [one for one in self._names.readers if self._owner(one.where) != gone]
            self._names.readers = kept
            self._mentions = [one for one in self._mentions if self._owner(one.where) != gone]
        if not self._changes.rewires:
            self._list_left(gone)
            return
        for where, loop in self._names.vague:
            self._check_vague(where, loop)
        texts: dict[Keys, str] = {}
        # From the last name of a text to the first, so that offsets stay true.
        for reader in sorted(self._names.readers, key=lambda one: one.spans[0], reverse=True):
            if gone and any(step == gone for step in reader.chain[-1:]):
                self._refuse(reader.where, f"{reader.viewer or 'the workflow'} reads {gone}")
            text = texts.get(reader.where)
            if text is None:
                scalar = self._value(reader.where)
                assert isinstance(scalar, Scalar)
                text = scalar.text
            changed = self._respelled(reader, text, after)
            if changed != text:
                texts[reader.where] = changed
                self._note(reader.where, reader.viewer)
        for where, text in texts.items():
            self._changes.editor.set(list(self._where(where, after)), text)
        for mention in self._mentions:
            self._rename_mention(mention, after)
        self._list_rewired()
        self._check_capture()

    def _check_capture(self) -> None:
        """Refuses a change after which a text would read a step that it has not read before."""
        changes, after = self._changes, self._changes.sketch
        document = changes.editor.now.document
        places = {reader.where: self._where(reader.where, after) for reader in self._names.readers}
        expected = {
            (places[reader.where], self._new(reader.chain[-1])) for reader in self._names.readers
        }
        known = {"", *(self._new(node.path) for node in self._before.nodes)}
        for reader in Names(document, files_beside(changes.files, changes.file)).readers:
            if (reader.where, reader.chain[-1]) in expected:
                continue
            # What a new step says itself is meant as it is.
            if self._owner(reader.where, after) in known:
                message = f"{reader.viewer or 'the workflow'} would read {reader.chain[-1]} instead"
                span = at(document.root, *reader.where)
                place = None if span is None else changes.editor.first_span(span.span)
                raise EditRefused(Diagnostic(READ, message, place, "", "choose another name"))

    def _list_rewired(self) -> None:
        """Lists who was patched, each with the line that it has by now."""
        now, after = self._changes.editor.now, self._changes.sketch
        for where, viewer in self._noted:
            owner = after.node(self._new(viewer))
            keys = self._where(where, after)
            rest = keys[len(owner.where) :] if owner is not None else keys
            path = now.find(keys) or now.find(keys[:-1])
            line = now.lines.line(now.place(path).start) if path else 1
            note = Rewired(self._new(viewer), ".".join(map(str, rest)), line)
            self._changes.outcome.rewired.append(note)

    def _new(self, path: str) -> str:
        """The path that a step has by now."""
        for old, new in self._moved.items():
            if _is_in(path, old):
                return new + path[len(old) :]
        return path

    def _owner(self, where: Keys, sketch: Sketch | None = None) -> str:
        """The step that a text stands in; nothing for what the workflow says itself."""
        owner = owner_of(sketch or self._before, where)
        return "" if owner is None else owner.path

    def _where(self, where: Keys, after: Sketch) -> Keys:
        """The keys that lead to a text by now."""
        owner = self._before.node(self._owner(where))
        if owner is None:
            return where
        now = after.node(self._new(owner.path))
        assert now is not None, owner.path
        return (*now.where, *where[len(owner.where) :])

    def _respelled(self, reader: Reader, text: str, after: Sketch) -> str:
        old = [self._name(step, self._before) for step in reader.chain]
        target, viewer = self._new(reader.chain[-1]), self._new(reader.viewer)
        is_moved = target != reader.chain[-1] or viewer != reader.viewer
        if not is_moved and all(self._new(step) == step for step in reader.chain):
            return text
        names = self._visible(reader, viewer, target, after)
        if len(names) == len(old):
            return self._swapped(reader, text, old, names)
        if len(reader.spans) > 1 and any(
            text[before[1] : behind[0]].strip()
            for before, behind in zip(reader.spans, reader.spans[1:], strict=False)
        ):
            self._refuse(
                reader.where, f"{reader.viewer or 'the workflow'} reads {reader.chain[-1]}"
            )
        start, end = reader.spans[0][0], reader.spans[-1][1]
        return text[:start] + spelled(names, is_first=not reader.fixed) + text[end:]

    def _swapped(self, reader: Reader, text: str, old: list[str], names: list[str]) -> str:
        """The text with each name that is another one by now."""
        for index in reversed(range(len(old))):
            if old[index] == names[index]:
                continue
            start, end = reader.spans[index]
            is_first = index == 0 and not reader.fixed
            if not is_first and text[start:end].replace(old[index], "", 1) in (".", "['']", '[""]'):
                token = text[start:end].replace(old[index], names[index], 1)
                bare = spelled([names[index]], is_first=False)
                text = text[:start] + (token if token[0] == "[" else bare) + text[end:]
            else:
                text = text[:start] + spelled([names[index]], is_first=is_first) + text[end:]
        return text

    def _name(self, path: str, sketch: Sketch) -> str:
        node = sketch.node(path)
        return str(node.where[-1]) if node is not None else path.rpartition("/")[2]

    def _visible(self, reader: Reader, viewer: str, target: str, after: Sketch) -> list[str]:
        """How a step is spelled from where it is read: through the loops that close it off."""
        around = [self._new(reader.loop)] if reader.loop else [viewer]
        seen = {each for path in around for each in _holders(path)}
        names: list[str] = []
        for holder in _holders(target)[:-1]:
            node = after.node(holder)
            if holder in seen or node is None or node.kind not in _CLOSED:
                continue
            if node.kind == "each" and self._name(reader.chain[0], self._before) != node.name:
                words = f"{reader.viewer or 'the workflow'} reads {reader.chain[-1]}"
                self._refuse(reader.where, f"{words}, and cannot see into {holder}")
            names.append(self._name(holder, after))
        if reader.loop and not _is_in(target, self._new(reader.loop)):
            words = f"{reader.viewer} reads {reader.chain[-1]} of an earlier iteration"
            self._refuse(reader.where, words)
        return [*names, self._name(target, after)]

    def _rename_mention(self, mention: Mention, after: Sketch) -> None:
        target, viewer = self._new(mention.target), self._new(mention.viewer)
        if target == mention.target and viewer == mention.viewer:
            return
        is_order = "after" in mention.where
        block = viewer.rpartition("/")[0] if is_order else viewer
        name = self._name(target, after)
        if is_order:
            beside = next((each for each in _holders(target) if _parent(each, after) == block), "")
            name = self._name(beside, after) if beside else name
        old = self._name(mention.target, self._before)
        if name == old:
            return
        where = self._where(mention.where, after)
        editor = self._changes.editor
        if mention.is_key:
            path = editor.now.find(where)
            assert path is not None
            holder = at(editor.now.root, *where[:-1])
            if isinstance(holder, Mapping) and name in holder:
                editor.cut(path)
            else:
                editor.rename(path, name)
        else:
            editor.set(list(where), name)
        self._note(mention.where, mention.viewer)

    def _check_vague(self, where: Keys, loop: str) -> None:
        """An expression over all iterations may read a step in a way that is not seen."""
        scalar = self._value(where)
        names = [self._name(path, self._before) for path in self._moved if _is_in(path, loop)]
        if isinstance(scalar, Scalar) and any(name in scalar.text for name in names):
            self._refuse(where, f"what reads the iterations of {loop} may read this step")

    def _note(self, where: Keys, viewer: str) -> None:
        if (where, viewer) not in self._noted:
            self._noted.append((where, viewer))

    def _refuse(self, where: Keys, message: str) -> NoReturn:
        raise EditRefused(Diagnostic(READ, message, self._value(where).span, "reads it", _LEAVE))


def _is_in(path: str, holder: str) -> bool:
    """Whether a path is that of a step or of something inside of it."""
    return path == holder or path.startswith(f"{holder}/")


def _holders(path: str) -> list[str]:
    """A path with all paths around it, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts))] if path else []


def _parent(path: str, sketch: Sketch) -> str:
    node = sketch.node(path)
    return "\0" if node is None else node.parent
