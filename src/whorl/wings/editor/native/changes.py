"""The picture of a native file, what can be added to it, and how operations change its text.

The order of the file is the order of work.
"""

from __future__ import annotations

from dataclasses import MISSING, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native import forms
from whorl.dialects.native.blocks import COMMON, kinds_of
from whorl.dialects.native.context import RESERVED
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.reading.fields import text_of, texts_of
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.changes import Changes, FormField
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE, Kind, Operation, refuse
from whorl.wings.editor.kit.sketch import (
    Drawing,
    Keys,
    Name,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    is_in,
    joined,
    reached,
)
from whorl.wings.editor.native.readers import Reading, check_name, names_at
from whorl.wings.editor.native.subflows import extract, inline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.native.forms import Field, FieldTable, Form
    from whorl.source import Document, Json
    from whorl.source.editing.entries import Piece
    from whorl.wings.editor.kit.changes import Widget
    from whorl.wings.editor.kit.sketch import Body


class _Drawing(Drawing):
    def block(
        self, steps: Value | None, where: Keys, address: str, parent: str, case: str | None,
        *, is_ordered: bool = True,
    ) -> list[str]:  # fmt: skip
        """Draws the steps of a block and their connections; returns their paths."""
        paths: dict[str, str] = {}
        for entry in steps if isinstance(steps, Mapping) else ():
            if entry.name in paths:
                continue
            location, path = joined(address, entry.name), self.path(address, entry.name)
            before = list(paths.values())[-1:] if is_ordered else []
            after = at(entry.value, "after")
            if after is not None:
                names = [each.name for each in after] if isinstance(after, Mapping) else None
                before = [paths[name] for name in names or texts_of(after) if name in paths]
            self.edges += [SketchEdge(source, path) for source in before]
            paths[entry.name] = path
            self._step(entry.value, (*where, entry.name), (location, path), parent, case)
        return list(paths.values())

    def _step(
        self, step: Value, where: Keys, own: tuple[str, str], parent: str, case: str | None
    ) -> None:
        location, path = own
        kinds = kinds_of(KINDS, step) if isinstance(step, Mapping) else []
        kind = kinds[0] if len(kinds) == 1 else ""
        slots = slots_of(step, kind, where)
        called = text_of(at(step, "call")) if kind == "call" else ""
        body: Body = "inline" if slots else "file" if called else "none"
        title = str(where[-1])
        node = SketchNode(path, kind, where, parent, case, title, body, file=called, slots=slots)
        self.nodes.append(replace(node, value=step))
        for name, keys in slots.items():
            inner = at(step, *keys[len(where) :])
            is_ordered = kind != "together"
            paths = self.block(inner, keys, location, path, name or None, is_ordered=is_ordered)
            carry = at(step, "repeat", "carry")
            if kind == "repeat" and paths:
                words = [entry.name for entry in carry] if isinstance(carry, Mapping) else []
                edge = SketchEdge(paths[-1], paths[0], "feedback", label=", ".join(words))
                self.edges.append(edge)


def slots_of(step: Value | None, kind: str, where: Keys) -> dict[str, Keys]:
    """Returns the keys of the steps inside a step, by case; "" is for steps without a case."""
    match kind:
        case "repeat":
            return {"": (*where, "repeat", "steps")}
        case "each":
            return {"": (*where, "steps")}
        case "together":
            return {"": _body(at(step, "together"), (*where, "together"))}
        case "if":
            names = {"then": "then", "default": "else"}
            found = {slot: name for slot, name in names.items() if at(step, name) is not None}
            return {slot: _body(at(step, name), (*where, name)) for slot, name in found.items()}
        case "choose":
            keys, choose = (*where, "choose"), at(step, "choose")
            cases, default = at(choose, "cases"), at(choose, "default")
            taken = [entry.name for entry in cases] if isinstance(cases, Mapping) else []
            slots = {name: _body(at(cases, name), (*keys, "cases", name)) for name in taken}
            last = {} if default is None else {"default": _body(default, (*keys, "default"))}
            return slots | last
    return {}


def _body(value: Value | None, where: Keys) -> Keys:
    """Returns the keys of steps, which are directly in their place or under `steps`."""
    return (*where, "steps") if at(value, "steps") is not None else where


# What can be added to a native file: the kinds of steps, with forms from the format's own table.


_ASKS, _WORKS, _LOOPS, _CHOOSES, _KEEPS, _ENDS = (
    "#2a4a7a", "#2f5a3c", "#4a2a6a", "#6a3a4a", "#4a5560", "#7a2f2a"
)  # fmt: skip
_COMMANDS = "[allow] commands"
_SHOWN = (
    Kind("ASK", "ask", "message-square", _ASKS, {"ask": "Say hello."}, title="Ask a model"),
    Kind("ASK", "agent", "bot", _ASKS, {"agent": "demo", "prompt": "Look around."}, _COMMANDS),
    Kind("WORK", "run", "terminal", _WORKS, {"run": "echo hello"}, _COMMANDS, "Run a command"),
    Kind("WORK", "http", "globe", _WORKS, {"http": "https://example.org"}, title="Call HTTP"),
    Kind("WORK", "read", "file-text", _WORKS, {"read": "input.txt"}, title="Read a file"),
    Kind("WORK", "write", "file-pen", _WORKS, {"write": "output.txt", "content": "text"},
         "[allow] files", "Write a file"),
    Kind("WORK", "use", "wrench", _WORKS, {"use": "server/tool"}, "[mcp]", "Use a tool"),
    Kind("WORK", "call", "workflow", _WORKS, {"call": "other.yaml"}, title="Call a workflow"),
    Kind("LOGIC", "repeat", "repeat", _LOOPS, {"repeat": {"at_most": 5, "steps": {}}}, "", "Loop"),
    Kind("LOGIC", "each", "list", _LOOPS, {"each": "[1, 2, 3]", "steps": {}}, title="For each"),
    Kind("LOGIC", "together", "columns", _LOOPS, {"together": {}}),
    Kind("LOGIC", "if", "git-branch", _CHOOSES, {"if": "true", "then": {}}),
    Kind("LOGIC", "choose", "split", _CHOOSES, {"choose": {"on": "'yes'", "cases": {"yes": {}}}}),
    Kind("LOGIC", "approve", "user-check", _CHOOSES, {"approve": "Continue?"}, "", "Ask a person"),
    Kind("LOGIC", "wait", "clock", _KEEPS, {"wait": "5s"}),
    Kind("VALUES", "set", "variable", _KEEPS, {"set": {"name": "value"}}, title="Set variables"),
    Kind("VALUES", "value", "braces", _KEEPS, {"value": "text"}),
    Kind("END", "stop", "octagon", _ENDS, {"stop": True}, title="End the run"),
    Kind("END", "break", "log-out", _ENDS, {"break": True}, title="Leave the loop"),
    Kind("END", "continue", "skip-forward", _ENDS, {"continue": True}, title="Next iteration"),
)  # fmt: skip
# The parts of all results of a kind, for feeding one back. Connections are between whole steps.
_PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": ((), ("stdout", "stderr", "exit_code")),
    "http": ((), ("status", "headers", "body")),
    "read": ((), ("content", "path", "size")),
    "write": ((), ("path", "size")),
    "approve": ((), ("approved", "feedback")),
}
_EMPTY = """\
whorl: 1
name: new
inputs:
  task: string
steps:
  write:
    ask: "Write {{ task }}"
outputs:
  text: "{{ write }}"
"""
_MORE = ("wait", "collect", "memory", "session", "check", "delivery", "secure")
_LABELS = {
    "if": "Only if",
    "after": "Waits for",
    "retry": "Retries",
    "timeout": "Time limit",
    "ask": "Prompt",
    "system": "System prompt",
    "returns": "Fields of the answer",
    "max_tokens": "Max tokens of the answer",
    "max_turns": "Max turns with tools",
    "run": "Command",
    "env": "Environment",
    "stdin": "Standard input",
    "http": "Address",
    "read": "File",
    "write": "File",
    "use": "Tool",
    "with": "Inputs",
    "call": "Workflow",
    "each": "List",
    "as": "Name of the item",
    "index": "Name of its number",
    "at_once": "Items at the same time",
    "approve": "Question",
    "set": "Variables",
    "until": "Repeat until",
    "check": "Check the condition",
    "carry": "Feed back",
    "on_limit": "At the limit",
    "return": "Returns",
    "on": "Choose by",
    "break": "Loop",
    "continue": "Loop",
    "stop": "End with",
}
_LONG = frozenset({"ask", "prompt", "system", "run", "approve", "description"})
# Fields that hold steps are drawn, and are not in a form.
_HELD = frozenset({"steps", "repeat", "together", "then", "else", "choose"})
# The widgets by form; the first that fits is used.
_WIDGETS: tuple[tuple[tuple[type[Form], ...], Widget], ...] = (
    ((forms.Choice,), "choice"),
    ((forms.Boolean,), "boolean"),
    ((forms.Number, forms.Count), "number"),
    ((forms.Condition, forms.Computed), "expression"),
    ((forms.Text, forms.Duration), "text"),
)


def _fields(
    names: list[str], table: FieldTable, usual: dict[str, Any], *around: str
) -> Iterator[FormField]:
    for name in names:
        if name not in _HELD and not table[name].rare:
            yield _field((*around, name), table[name], usual)


def _field(keys: tuple[str, ...], field: Field, usual: dict[str, Any]) -> FormField:
    name = keys[-1]
    value = usual.get(field.attribute, MISSING)
    value = getattr(value, "iterations", getattr(value, "action", value))
    is_plain = isinstance(value, str | int | float) and value != ""
    form: Form | None = field.form
    if isinstance(form, forms.OneOf):
        first = form.forms[0]
        # A truth value that may also be something else gets no tick box.
        form = None if isinstance(first, forms.Boolean) else first
    widget: Widget = next((word for kinds, word in _WIDGETS if isinstance(form, kinds)), "json")
    if name == "until":
        widget = "expression"
    if widget == "text" and name in _LONG:
        widget = "long text"
    is_common = len(keys) == 1 and name in COMMON and not field.required
    return FormField(
        keys,
        widget,
        field.doc,
        tuple(getattr(form, "choices", ())),
        field.required,
        _LABELS.get(name, name.replace("_", " ").capitalize()),
        value if is_plain else None,
        "more" if is_common or (name in _MORE and not field.required) else "",
    )


# How operations change the text.

_HOLDERS = ("repeat", "each", "together", "if")


class NativeChanges(Changes):
    kinds, ports, empty = _SHOWN, _PORTS, _EMPTY
    last = ("repeat", "together", "choose", "steps", "then", "else", "cases", "default", "outputs")

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        """Returns the fields of a kind: first its own, then those of all steps."""
        table = KINDS[kind]
        names = sorted(table.fields, key=lambda name: name in COMMON and name != kind)
        made = list(_fields(names, table.fields, forms.defaults(table.node)))
        if kind == "repeat":
            plain = forms.defaults(ir.Loop)
            made = [*_fields([*REPEAT.fields], REPEAT.fields, plain, kind), *made]
        if kind == "choose":
            words = "the expression whose value names the case"
            first = FormField(("choose", "on"), "expression", words, (), True, _LABELS["on"])
            made.insert(0, first)
        return made

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        drawing = _Drawing()
        if isinstance(document.root, Mapping):
            drawing.block(document.root.get("steps"), ("steps",), "", "", None)
        return drawing.sketch()

    def names_at(self, path: str) -> list[Name]:
        return names_at(self, path)

    def slot(self, into: str, case: str | None = None) -> Keys:
        """Returns the keys of the steps inside a holder, or in the workflow."""
        if not into:
            return ("steps",)
        node = self.node(into)
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{into!r} holds no steps", node.where)
        wanted = case or ("" if "" in node.slots else next(iter(node.slots)))
        if wanted not in node.slots:
            known = ", ".join(filter(None, node.slots)) or "none"
            message = f"{into!r} has no case {wanted!r}"
            self.refuse_at(UNKNOWN, message, node.where, f"known: {known}")
        return node.slots[wanted]

    def index_in(self, where: Keys, operation: Operation) -> int:
        """Returns the index for a step in a block: behind another step, first (null), or last."""
        names = self.names_in(where)
        if "after" not in operation.fields:
            return len(names)
        after = operation.get("after")
        if after is None:
            return 0
        name = self.node(after).key if self.sketch.node(after) else after
        if name not in names:
            self.refuse_at(UNKNOWN, f"there is no step {after!r} in this place", where)
        return names.index(name) + 1

    def put_in(self, where: Keys, index: int, what: Piece | tuple[str, Json]) -> None:
        """Puts a piece or a new step into a block, and creates the block if it is missing."""
        editor = self.editor
        if editor.now.find(where) is None:
            editor.set(list(where), {})
        if isinstance(what, tuple):
            editor.insert(self.path(where), index, *what)
        else:
            editor.paste(self.path(where), index, what)

    def selected(self, operation: Operation) -> list[SketchNode]:
        """Returns the steps of an operation, all of one block, in its order."""
        nodes = [self.node(path) for path in dict.fromkeys(operation.at)]
        if not nodes or len({node.where[:-1] for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the steps do not all have the same parent")
        names = self.names_in(nodes[0].where[:-1])
        return sorted(nodes, key=lambda node: names.index(node.key))

    def neighbours(self, operation: Operation) -> list[SketchNode]:
        """Returns the same steps, which must be next to each other."""
        nodes = self.selected(operation)
        names = self.names_in(nodes[0].where[:-1])
        first = names.index(nodes[0].key)
        if [node.key for node in nodes] != names[first : first + len(nodes)]:
            raise refuse(UNKNOWN, "the steps are not next to each other")
        return nodes

    def make_add(self, operation: Operation) -> None:
        where = self.slot(operation.get("into"), operation.get("case"))
        index, names = self.index_in(where, operation), set(self.names_in(where))
        if (piece := operation.get("piece")) is not None:
            cut = self.editor.piece_of(piece)
            name = self.free_name(str(cut.name or "step"), names)
            self.put_in(where, index, self.editor.renamed_piece(cut, name))
        else:
            fields = self.new_fields(operation)
            name = self.free_name(operation.get("name") or operation.get("kind"), names | RESERVED)
            check_name(self, name, where)
            self.put_in(where, index, (name, fields))
        self.outcome.select = [joined(operation.get("into"), name)]

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep":
            self.make_unwrap(operation)
            return
        reading = Reading(self)
        self.editor.cut(self.path(node.where))
        reading.rewire({}, gone=node.path)
        self.outcome.select = [node.parent] if node.parent else []

    def make_rename(self, operation: Operation) -> None:
        node, name = self.node(operation.at[0]), operation.get("name")
        check_name(self, name, node.where)
        path = joined(node.parent, name)

        def change() -> None:
            reading = Reading(self)
            self.editor.rename(self.path(node.where), name)
            reading.rewire({node.path: path})

        self.soundly(change)
        self.outcome.select = [path]

    def make_move(self, operation: Operation) -> None:
        nodes, into = self.selected(operation), operation.get("into")
        if any(is_in(into, node.path) for node in nodes):
            raise refuse(UNKNOWN, "a step cannot be moved into itself")
        if operation.get("after") in [node.path for node in nodes]:
            raise refuse(UNKNOWN, "a step cannot be moved after itself")
        reading, where = Reading(self), self.slot(into, operation.get("case"))
        moved = self._relocate(nodes, into, where, operation)
        reading.rewire(moved)
        self.outcome.select = list(moved.values())

    def _relocate(
        self, nodes: list[SketchNode], into: str, where: Keys, operation: Operation
    ) -> dict[str, str]:
        """Moves steps into a block; returns their new paths by the old ones."""
        moved: dict[str, str] = {}
        last = ""
        for node in nodes:
            piece = self.editor.cut(self.path(node.where))
            behind = Operation("move", {"after": last}) if last else operation
            self.put_in(where, self.index_in(where, behind), piece)
            last = moved[node.path] = joined(into, str(piece.name))
        return moved

    def make_wrap(self, operation: Operation) -> None:
        nodes, kind = self.neighbours(operation), operation.get("kind")
        if kind not in _HOLDERS:
            known = f"known: {', '.join(_HOLDERS)}"
            raise refuse(UNKNOWN, f"steps cannot be wrapped in {kind!r}", known)
        block, given = nodes[0].where[:-1], operation.get("fields", {})
        names = self.names_in(block)
        name = self.free_name(operation.get("name") or "loop_1", set(names) | RESERVED)
        check_name(self, name, block)
        value: dict[str, Any] = {**self.new[kind], **given}
        if kind == "repeat":
            value = {"repeat": {**given, **self.new[kind]["repeat"], **given}}
        path = joined(nodes[0].parent, name)

        def change() -> None:
            reading = Reading(self)
            self.put_in(block, names.index(nodes[0].key), (name, value))
            last = Operation("move")
            reading.rewire(self._relocate(nodes, path, self.slot(path), last))

        self.soundly(change)
        self.outcome.select = [path]

    def make_unwrap(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{node.path!r} holds no steps", node.where)
        inside = self.sketch.inside(node.path)

        def change() -> None:
            reading = Reading(self)
            after = Operation("move", {"after": node.path})
            moved = self._relocate(inside, node.parent, node.where[:-1], after)
            self.editor.cut(self.path(node.where))
            reading.rewire(moved, gone=node.path)
            self.outcome.select = list(moved.values())

        self.soundly(change)

    def make_extract(self, operation: Operation) -> None:
        if len(operation.at) != 1:
            raise refuse(UNAVAILABLE, "one step at a time goes to a file of its own")
        extract(self, self.node(operation.at[0]), operation.get("file"))

    def make_inline(self, operation: Operation) -> None:
        inline(self, self.node(operation.at[0]))

    def _ends(self, operation: Operation) -> tuple[SketchNode, SketchNode]:
        source, target = (str(operation.get(end).get("at", "")) for end in ("from", "to"))
        return self.node(source), self.node(target)

    def make_connect(self, operation: Operation) -> None:
        source, target = self._ends(operation)
        if operation.get("kind", "order") == "feedback":
            self._feed_back(operation, source, target)
            return
        if source.where[:-1] != target.where[:-1] or source.path == target.path:
            advice = "only steps of the same block can be ordered; move one of them"
            message = "the two steps are not in the same block"
            self.refuse_at(CONNECTED, message, target.where, advice)
        orders = [(e.source, e.target) for e in self.sketch.edges if e.kind == "order"]
        if target.path in reached(source.path, orders):
            return
        if source.path in reached(target.path, orders):
            message = f"{target.path!r} comes before {source.path!r} already"
            self.refuse_at(CONNECTED, message, target.where, "remove that order first, or move it")
        name, where = source.key, (*target.where, "after")
        written = at(self.editor.now.root, *where)
        value: Json = [*texts_of(written), name] if texts_of(written) else name
        if isinstance(written, Mapping):
            where, value = (*where, name), "passed"
        self.editor.set(list(where), value, before=self.last)

    def _feed_back(self, operation: Operation, source: SketchNode, loop: SketchNode) -> None:
        """Carries the result of a step into the next iteration of the loop around it."""
        if loop.kind != "repeat" or not source.path.startswith(f"{loop.path}/"):
            message = "feedback goes from a step to the loop around it"
            self.refuse_at(CONNECTED, message, loop.where)
        port = operation.get("from").get("port") or ""
        names = self.names_in((*loop.where, "repeat", "carry"))
        taken = {*names, *self.names_in((*loop.where, "repeat", "steps"))} | RESERVED
        name = self.free_name(operation.get("name") or port or "feedback", taken)
        check_name(self, name, loop.where)
        read = f"{{{{ {source.name}.{port} }}}}" if port else f"{{{{ {source.name} }}}}"
        self.editor.set([*loop.where, "repeat", "carry", name], read, before=self.last)
        self.outcome.select = [loop.path]

    def make_disconnect(self, operation: Operation) -> None:
        source, target = self._ends(operation)
        name, where = source.key, [*target.where, "after"]
        written = at(self.editor.now.root, *where)
        if operation.get("kind", "order") == "feedback":
            name = operation.get("name") or operation.get("to").get("port") or ""
            where = [*target.where, "repeat", "carry", name]
        elif isinstance(written, Mapping) and name in written:
            where.append(name)
        elif isinstance(written, Sequence) and name in texts_of(written):
            where.append([getattr(part, "text", "") for part in written].index(name))
        elif not (isinstance(written, Scalar) and written.text == name):
            message = "one comes before the other only by the order of the file"
            self.refuse_at(CONNECTED, message, target.where, "move it, or use together")
        self.editor.unset(where, keeps=len(target.where))
