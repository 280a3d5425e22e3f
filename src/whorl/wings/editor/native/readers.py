"""The places that read each step of a native file, by the reader's scopes; edits rewire them."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, cast

from whorl import ir
from whorl.dialects.native.context import FACTS, NAME_MAX, NAMES, RESERVED, RESULTS, Context
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.tasks import steps_read
from whorl.dialects.native.workflow import read_file
from whorl.dialects.reading.fields import scalars, text_of, texts_of
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.ir.checks.scopes import uses_in, views_in
from whorl.ir.walk import blocks_of, names_given, walk
from whorl.language import LanguageError, free_names
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.operations import READ
from whorl.wings.editor.kit.sketch import Keys, Name, Rewired, Sketch, at, holders, is_in, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.errors import Span
    from whorl.ir.checks.scopes import Shape, Use
    from whorl.ir.nodes import Fact, Node
    from whorl.language import Json, NameUse
    from whorl.wings.editor.kit.changes import Changes
    from whorl.wings.editor.kit.sketch import SketchNode

_PLAIN, _STEP = re.compile(NAMES["plain"]), re.compile(NAMES["dashed"])
_TOKEN = re.compile(
    r"\s*\.\s*(?P<member>[A-Za-z_]\w*)|\s*\[\s*(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\""
    r"|(?P<index>-?\d+))\s*\]"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_LEAVE = "change the reader first, or use `readers: leave`"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that names steps: each of `chain` is in the result of the one before.

    In a text `spans` are the offsets of the names. `is_fixed`: tokens such as `results` come before
    them. `loop` is the one whose iterations are read. A field that is a name, or has names as keys,
    has its own `word`: `after`, `until`, `break` or `continue`.
    """

    where: Keys
    viewer: str
    chain: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()
    is_fixed: bool = False
    loop: str = ""
    word: str = ""
    is_key: bool = False

    @property
    def target(self) -> str:
        """The step that is named."""
        return self.chain[-1]

    def __str__(self) -> str:
        return f"{self.viewer or 'the workflow'} {'names' if self.word else 'reads'} {self.target}"


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A name that a text reads: its place, the reading step, and the node that gives it, if any."""

    where: Keys
    viewer: str
    name: NameUse
    offset: int
    origin: Node | None


class Reading:
    """One reading of a file: what each of its texts and fields names, as far as it can be read.

    `implicit` are steps that are read without being named, each with its reader: a loop with
    conditions on its last step, or the workflow, whose result is that of its last step.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes, self._sketch, self._root = changes, changes.sketch, changes.editor.now.root
        self.references: list[Reference] = []
        self.uses: list[NamePlace] = []
        self.implicit: list[tuple[str, str]] = []
        self.paths: dict[int, str] = {}
        self.workflow: ir.Workflow | None = None
        # Texts that read all iterations at once may name steps in ways that are not found.
        self._vague: list[tuple[Keys, str]] = []
        self._moved: dict[str, str] = {}
        with suppress(InvalidWorkflow):
            self._read_texts()
        fields = (each for node in self._sketch.nodes for each in _named_in(node))
        self.references += (each for each in fields if self._sketch.node(each.target))

    def _read_texts(self) -> None:
        document = self._changes.editor.now.document
        context = Context(document, self._changes.files_beside, kinds=KINDS)
        self.workflow = read_file(context, is_checked=False)
        self.paths = {id(node): _address(path) for path, node in walk(self.workflow.body)}
        texts = {id(scalar): where for where, scalar in scalars(document.root)}
        for use in uses_in(self.workflow):
            place = context.places.text(use.expression)
            if place is None or id(place[0]) in texts:
                with suppress(LanguageError):
                    for name in free_names(use.expression):
                        self._read(use, name, place and (texts[id(place[0])], *place))

    def _read(self, use: Use, name: NameUse, place: tuple[Keys, Scalar, int] | None) -> None:
        viewer, origin = _address(use.path), use.view.origin(name.name)
        if place is None:
            if path := self.paths.get(id(origin)):
                self.implicit.append((viewer, path))
            return
        where, scalar, start = place
        self.uses.append(NamePlace(where, viewer, name, start + name.offset, origin))
        loop, steps = steps_read(use.view, name)
        if loop is not None and not steps:
            self._vague.append((where, self.paths.get(id(loop), "")))
        chain = tuple(self.paths.get(id(node), "") for node, _ in steps)
        tokens = _tokens(scalar.text, start + name.offset, name)
        if steps and all(chain) and steps[-1][1] < len(tokens):
            spans = tuple(tokens[index] for _, index in steps)
            around = "" if loop is None else self.paths.get(id(loop), "")
            is_fixed = steps[0][1] > 0
            self.references.append(Reference(where, viewer, chain, spans, is_fixed, around))

    def check_vague(self, paths: Iterable[str]) -> None:
        """Refuses if an expression over all iterations may read one of the steps."""
        for where, loop in self._vague:
            names = [path.rpartition("/")[2] for path in paths if is_in(path, loop)]
            if any(name in text_of(at(self._root, *where)) for name in names):
                self.refuse(where, f"an expression over iterations of {loop} may read this step")

    def refuse(self, where: Keys, message: str) -> NoReturn:
        raise EditRefused(Diagnostic(READ, message, self._span(where), "reads it", _LEAVE))

    def _span(self, where: Keys) -> Span | None:
        value = at(self._root, *where)
        return None if value is None else value.span

    def rewire(self, moved: dict[str, str], *, gone: str = "") -> None:
        """Changes all texts and fields that name a step whose path has changed.

        The texts inside a step that is `gone` go with it. If the step is removed with its content,
        orders that name it are deleted.
        """
        self._moved = moved
        kept = [e for e in self.references if not gone or not is_in(self._now(e.viewer), gone)]
        lost = [each for each in kept if is_in(self._now(each.target), gone)]
        changed = [e for e in kept if any(self._now(path) != path for path in (e.viewer, e.target))]
        if not self._changes.rewires:
            moved_to = [each for each in changed if self._now(each.target) != each.target]
            self._list([*lost, *moved_to])
            return
        self.check_vague(moved)
        for each in lost:
            if not each.word or (not moved and each.word != "after"):
                self.refuse(each.where, str(each))
        spellings = [(each, each.spans and self._spelling(each)) for each in changed]
        texts = [(each, spelling) for each, spelling in spellings if spelling]
        self._changes.respell((self._keys(each.where), *spelling) for each, spelling in texts)
        # The last one first, so that the items of a list keep their places.
        fields = [each for each in reversed(changed) if each.word and self._rename(each)]
        for each in () if moved else reversed(lost):
            owner = self._sketch.owner(each.where)
            self._changes.editor.unset(list(each.where), keeps=len(owner.where) if owner else 0)
        self._list([*(each for each, _ in texts), *reversed(fields), *(() if moved else lost)])
        if moved:
            self._check_capture()

    def _check_capture(self) -> None:
        """Refuses a change after which a text would read another step than before."""
        read = {(self._keys(e.where), self._now(e.target)) for e in self.references if e.spans}
        known = {"", *(self._now(node.path) for node in self._sketch.nodes)}
        after = Reading(self._changes)
        for each in after.references:
            if not each.spans or (each.where, each.target) in read:
                continue
            # The texts of a new step are meant as they are.
            if self._changes.place_of(each.where).path in known:
                message = f"{each.viewer or 'the workflow'} would read {each.target} instead"
                span = after._span(each.where)
                place = span and self._changes.editor.first_span(span)
                raise EditRefused(Diagnostic(READ, message, place, "", "choose another name"))

    def _list(self, references: list[Reference]) -> None:
        """Lists places that were changed, or left, each with its current line."""
        for where in dict.fromkeys(each.where for each in references):
            self._changes.outcome.rewired.append(self._changes.place_of(self._keys(where)))

    def _now(self, path: str) -> str:
        """Returns the current path of a step."""
        for old, new in self._moved.items():
            if is_in(path, old):
                return new + path[len(old) :]
        return path

    def _keys(self, where: Keys) -> Keys:
        """Returns the current keys of a text."""
        owner = self._sketch.owner(where)
        now = owner and self._changes.sketch.node(self._now(owner.path))
        return (*now.where, *where[len(owner.where) :]) if owner and now else where

    def _spelling(self, reference: Reference) -> tuple[int, int, str] | None:
        """Returns the part of a text to replace and its new words, which read the same steps."""
        spans, text = reference.spans, text_of(at(self._root, *reference.where))
        old, new = [name_of(step, self._sketch) for step in reference.chain], self._names(reference)
        if old == new:
            return None
        least = min(len(old), len(new))
        first = next((i for i in range(least) if old[i] != new[i]), least)
        # If another name now comes first, the old first name is spelled again.
        rest = least - (first or int(len(old) != len(new)))
        behind = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
        replaced, names = spans[first : len(old) - behind], new[first : len(new) - behind]
        start = spans[first][0]
        end = replaced[-1][1] if replaced else start
        gaps = (text[a[1] : b[0]] for a, b in pairwise(replaced))
        if any(gap.strip() for gap in gaps):
            self.refuse(reference.where, str(reference))
        if len(replaced) == len(names) == 1 and text[start:end].lstrip().startswith("["):
            return start, end, text[start:end].replace(old[first], names[0], 1)
        return start, end, spelled(names, is_first=not first and not reference.is_fixed)

    def _names(self, reference: Reference) -> list[str]:
        """Returns the names that lead from a reader to a step, through the loops around it."""
        after, target = self._changes.sketch, self._now(reference.target)
        if reference.loop and not is_in(target, self._now(reference.loop)):
            self.refuse(reference.where, f"{reference} of an earlier iteration")
        around = holders(self._now(reference.loop or reference.viewer))
        closed = [after.node(path) for path in holders(target)[:-1] if path not in around]
        names: list[str] = []
        for node in closed:
            if node is None or node.kind not in ("repeat", "each"):
                continue
            if node.kind == "each" and name_of(reference.chain[0], self._sketch) != node.name:
                self.refuse(reference.where, f"{reference}, and cannot see into {node.path}")
            names.append(node.key)
        return [*names, name_of(target, after)]

    def _rename(self, reference: Reference) -> bool:
        """Writes the current name of a step into a field; returns whether it is a new one."""
        target = self._now(reference.target)
        if reference.word == "after":
            # A step that waits for another one waits for the holder of that step in its own block.
            block = self._now(reference.viewer).rpartition("/")[0]
            beside = (each for each in holders(target) if each.rpartition("/")[0] == block)
            target = next(beside, target)
        name = name_of(target, self._changes.sketch)
        if name == name_of(reference.target, self._sketch):
            return False
        rename_in_field(self._changes, self._keys(reference.where), name, reference.is_key)
        return True


def rename_in_field(changes: Changes, where: Keys, name: str, is_key: bool) -> None:
    """Writes another name into a field that names steps, but does not repeat a name in it."""
    editor = changes.editor
    holder = at(editor.now.root, *where[:-1])
    if isinstance(holder, Sequence) and name in texts_of(holder):
        editor.unset(list(where))
    elif not is_key:
        editor.set(list(where), name)
    elif isinstance(holder, Mapping) and name in holder:
        editor.cut(changes.path(where))
    else:
        editor.rename(changes.path(where), name)


def name_of(path: str, sketch: Sketch) -> str:
    """Returns the name of a step as it is written."""
    node = sketch.node(path)
    return path.rpartition("/")[2] if node is None else node.key


def _address(path: str) -> str:
    """Returns the path of a node as pictures spell it, without the slots of branches."""
    return "/".join(joined("", part.partition("@")[0]) for part in path.split("/"))


def _tokens(text: str, offset: int, use: NameUse) -> list[tuple[int, int]]:
    """Returns the spans of a name and of each key of its path in a text, with dots and brackets."""
    found = _NAME.match(text, offset)
    if found is None or found.group() != use.name:
        return []
    tokens = [found.span()]
    for key in use.path:
        token = _TOKEN.match(text, tokens[-1][1])
        if token is None or str(key) not in token.groups():
            break
        tokens.append(token.span())
    return tokens


def check_name(changes: Changes, name: str, where: Keys) -> None:
    """Refuses an invalid name of a step."""
    if name in RESERVED or not _STEP.fullmatch(name) or len(name) > NAME_MAX:
        advice = "letters, digits, '_' and '-', beginning with a letter"
        changes.refuse_at(TAKEN, f"a step cannot be called {name[:60]!r}", where, advice)


def spelled(names: list[str], *, is_first: bool = True) -> str:
    """Returns names as an expression spells them, each in the result of the one before."""
    text = "".join(f".{name}" if _PLAIN.fullmatch(name) else f"['{name}']" for name in names)
    if not is_first:
        return text
    return text[1:] if text.startswith(".") else f"{RESULTS}{text}"


def _named_in(node: SketchNode) -> Iterator[Reference]:
    """Yields the steps that the fields of a step name, without its texts."""
    step, where, path = node.value, node.where, node.path
    yield from _names_of(at(step, "after"), (*where, "after"), path, node.parent, "after")
    for word in ("break", "continue"):
        name = text_of(at(step, word))
        around = [each for each in holders(node.parent) if each.rpartition("/")[2] == name]
        if around:
            yield Reference((*where, word), path, (around[-1],), word=word)
    yield from _named_by(at(step, "repeat", "until"), (*where, "repeat", "until"), path)


def _names_of(
    value: Value | None, where: Keys, viewer: str, holder: str, word: str
) -> Iterator[Reference]:
    """Yields the references of a name, a list of names, or names as keys."""
    match value:
        case Scalar() if isinstance(value.value, str):
            yield Reference(where, viewer, (joined(holder, value.value.strip()),), word=word)
        case Sequence():
            for index, item in enumerate(value):
                yield from _names_of(item, (*where, index), viewer, holder, word)
        case Mapping():
            for entry in value:
                chain = (joined(holder, entry.name),)
                yield Reference((*where, entry.name), viewer, chain, word=word, is_key=True)


def _named_by(value: Value | None, where: Keys, loop: str) -> Iterator[Reference]:
    """Yields the steps of a loop's body that its conditions name without an expression."""
    if isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _named_by(item, (*where, index), loop)
    for entry in value if isinstance(value, Mapping) else ():
        inner = (*where, entry.name)
        if entry.name in ("all", "any"):
            yield from _named_by(entry.value, inner, loop)
        elif entry.name == "branch":
            yield from _names_of(entry.value, inner, loop, loop, "until")
        else:
            yield from _names_of(at(entry.value, "of"), (*inner, "of"), loop, loop, "until")


# The names that the texts of a step may read, by the scopes of the reader.

_FACTS = cast("list[tuple[str, Fact]]", list(FACTS.items()))
_DEEP_MAX = 3
_WORDS = {"string": "text", "integer": "number", "array": "list", "plain": "any"}


def names_at(changes: Changes, path: str) -> list[Name]:
    """Returns the names that a step sees, the nearest first; for a loop, those that its body sees.

    An empty path is the end of the workflow, with its outputs.
    """
    reading = Reading(changes)
    workflow = reading.workflow
    view = None if workflow is None else dict(views_in(workflow)).get(path)
    if workflow is None or view is None:
        return []
    types = {port.name: _WORDS.get(port.type, port.type) for port in workflow.inputs}
    readers: dict[str, dict[Rewired, None]] = {}
    for reference in reading.references:
        for step in reference.chain if reference.spans else ():
            readers.setdefault(step, {})[changes.place_of(reference.where)] = None
    found: dict[str, Name] = {}
    seen = [(name, view.origin(name), view.find(name)[1]) for name in dict.fromkeys(view.names())]
    # The facts of a loop are bound when they are read, so that all are available.
    loops = [loop for loop in view.holders() if isinstance(loop, ir.Loop)]
    seen += [(name, loop, view.shapes.of_fact(loop, fact)) for loop in loops
             for name, fact in _FACTS]  # fmt: skip
    for name, node, shape in seen:
        is_step = node is not None and node.name == name
        step = reading.paths.get(id(node), "") if is_step else ""
        known: Json = {"type": types.get(name)} if node is None else None
        known = _schema(node) if is_step else known
        for parts, word in _parts([name], shape, node, known):
            text = spelled(parts)
            whole = step if len(parts) == 1 else "/".join([step, *parts[1:]])
            found.setdefault(text, Name(text, word, step, tuple(readers.get(whole, ()))))
    return list(found.values())


def _schema(node: Node | None) -> Json:
    return node.returns if isinstance(node, ir.Task) else None


def _parts(
    parts: list[str], shape: Shape | None, node: Node | None, schema: Json
) -> Iterator[tuple[list[str], str]]:
    """Yields a name and its known inner names, each with its type."""
    known = schema if isinstance(schema, dict) else {}
    word = known.get("type") or (shape.kind if shape is not None else "any")
    yield parts, _WORDS.get(str(word), str(word))
    if shape is None or shape.kind != "object" or len(parts) > _DEEP_MAX:
        return
    properties = known.get("properties")
    blocks = () if node is None else blocks_of(node)
    steps = dict(pair for _, block in blocks for pair in names_given(block))
    for name, inner in shape.fields.items():
        step = steps.get(name)
        part = properties.get(name) if isinstance(properties, dict) else _schema(step)
        yield from _parts([*parts, name], inner, step, part)
