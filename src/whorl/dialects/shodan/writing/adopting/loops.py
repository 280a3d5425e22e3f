"""Loops whose condition compares an output, as loops of the dialect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.loops.deciding import OPPOSITES
from whorl.dialects.shodan.loops.results import COUNT
from whorl.dialects.shodan.sources import called, expression, given, literal, output, packed, quoted
from whorl.dialects.shodan.writing.adopting.scope import Here, Path, Ref, parsed, path_of
from whorl.dialects.shodan.writing.adopting.work import results_of, type_of
from whorl.dialects.shodan.writing.parts import Out, source_of, tree_of
from whorl.dialects.writing.unsaid import words_for
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable

    _Until = tuple[ir.When, ir.Compute | None]
    AdoptBlock = Callable[[Here, ir.Block], tuple[ir.Block, dict[Path, Ref]]]

_SHARED = ("name", "after", "place")
_ASKED = ("ask", "agent")
_SAID = ("body", "until", "limits", "carry", "facts", "history_keep", "collect")
_TAKEN = "outputs are taken from the first, the last or all iterations"
_WHILE = "a loop goes on while an output of a node inside compares with a value of its type"


class _Carried:
    """What iterations see of the one before, and of what the loop is given."""

    def __init__(self, here: Here, node: ir.Loop) -> None:
        self.here = here
        self.node = node
        self.inputs: dict[str, ir.Carry] = {}
        self.previous: dict[str, ir.Carry] = {}
        self.taken = {one.name for one in node.body.nodes}
        self.count = f"{here.loop}_" if here.loop else COUNT

    def refs(self, inner: dict[Path, Ref]) -> dict[Path, Ref]:
        """The names of the loop; those of the inside are known by `inner`."""
        found: dict[Path, Ref] = {}
        for name, fact in self.node.facts:
            if fact == "number":
                found[name,] = Ref(given(self.count), "integer")
            elif fact == "previous":
                for path, ref in inner.items():
                    if ref.type == "text":
                        found[name, *path] = self._ref(f"previous_{path[0]}", None, ref)
        for carry in self.node.carry:
            try:
                found[carry.name,] = self._carry(carry, inner)
            except CannotSay as loss:
                self.here.lose(f"the carried {carry.name!r}: {loss.what}", loss.why)
        return found

    def _carry(self, carry: ir.Carry, inner: dict[Path, Ref]) -> Ref:
        later = self.here.knowing(inner).ref(carry.later)
        if later.type != "text" or later.at is not None:
            raise CannotSay("a value that is no text of a node", "null may arrive in its place")
        return self._ref(carry.name, carry.first, later)

    def _ref(self, name: str, first: ir.Value | None, later: Ref) -> Ref:
        """A port that takes one value in the first iteration and another in later ones."""
        source = source_of(tree_of(expression(later.source)))
        if not isinstance(source, Out):
            raise CannotSay("a value that is handed on", "an output of a node is carried")
        before = f"{source.node}.{source.port}"
        choices: list[str] = []
        default = ""
        if isinstance(first, ir.Constant):
            if not isinstance(first.value, str) or not first.value:
                raise CannotSay("a first value that is no text", "null may arrive in its place")
            default = first.value
        elif first is not None:
            ref = self.here.ref(first)
            if ref.type != "text":
                raise CannotSay("a first value that is no text", "null may arrive in its place")
            wanted = self._input(name, ref)
            choices += [quoted("first"), given(wanted)]
        choices += [quoted("subsequent"), given(before)]

        def at(node: str, word: str) -> str:
            self.previous[before] = ir.Carry(before, ir.Constant(None), expression(later.source))
            mapped = called("mapped", given(self.count), *choices)
            if first is not None and not default:
                return mapped
            spec = {"name": name, "type": "string", "default": default or word}
            return called("arrive", mapped, quoted(node), packed(spec))  # type: ignore[arg-type]

        return Ref("", "text", at, absent=first is None, loop=self.count)

    def _input(self, name: str, ref: Ref) -> str:
        wanted = f"first_{name}"
        while wanted in self.taken:
            wanted += "_"
        self.inputs[wanted] = ir.Carry(wanted, first=expression(ref.source))
        return wanted


def adopt_loop(
    here: Here, node: ir.Loop, adopt_block: AdoptBlock
) -> tuple[list[ir.Node], dict[Path, Ref]]:
    """A loop; raises CannotSay."""
    here.lose_unsaid(node, (*_SHARED, *_SAID))
    here.lose_unsaid(node.limits, ("iterations",))
    iterations = node.limits.iterations
    if not isinstance(iterations, int):
        raise CannotSay("a number of iterations that is computed", "it is written down there")
    carried = _Carried(here, node)
    # What the inside gives must be known before what is carried, and the other way round.
    known = _foreseen(node.body)
    inside = replace(here.knowing(carried.refs(known)), loop=carried.count)
    body, inner = adopt_block(inside, node.body)
    here.used |= inside.used
    try:
        until, decider = _until(here.knowing(inner), node)
    except CannotSay as loss:
        here.lose(loss.what, loss.why)
        until, decider = _constant(node, goes_on=True)
    if decider is not None:
        body = replace(body, nodes=(*body.nodes, decider))
    collect, found = _collected(here, node, inner, carried.count)
    shape = [
        (one.name, called("picked", "it", *map(quoted, (one.name, node.name, "any"))))
        for one in collect
    ]
    loop = ir.Loop(
        name=node.name,
        place=node.place,
        body=body,
        until=until,
        limits=ir.LoopLimits(iterations=iterations),
        carry=(*carried.inputs.values(), *carried.previous.values()),
        collect=collect,
        facts=((carried.count, "number"),),
        shape=ir.Fields(tuple((name, expression(source)) for name, source in shape)),
    )
    return [loop], found


def _foreseen(body: ir.Block) -> dict[Path, Ref]:
    """What questions inside of a loop give."""
    tasks = [one for one in body.nodes if isinstance(one, ir.Task) and one.kind in _ASKED]
    return {path: ref for task in tasks for path, ref in results_of(task).items()}


def _collected(
    here: Here, node: ir.Loop, inner: dict[Path, Ref], count: str
) -> tuple[tuple[ir.Collect, ...], dict[Path, Ref]]:
    """What is read of the loop from outside."""
    collect: list[ir.Collect] = []
    found: dict[Path, Ref] = {}
    inside = here.knowing(inner)
    for one in node.collect:
        try:
            ref = inside.ref(one.value)
            if one.take == "best" or ref.at is not None:
                raise CannotSay("a value of the best iteration, or of one before", _TAKEN)
        except CannotSay as loss:
            here.lose(f"the collected {one.name!r}: {loss.what}", loss.why)
            continue
        kind = "list" if one.take == "all" else ref.type
        collect.append(ir.Collect(one.name, one.take, expression(ref.source)))
        found[node.name, one.name] = Ref(output(node.name, one.name), kind)
    for path, ref in inner.items():
        whole = (node.name, *path)
        if whole in here.reads and ref.at is None:
            name = "_".join(path)
            collect.append(ir.Collect(name, "last", expression(ref.source)))
            found[whole] = Ref(output(node.name, name), ref.type)
    collect.append(ir.Collect(COUNT, "last", expression(given(count))))
    found[node.name, "loop", "iterations"] = Ref(output(node.name, COUNT), "integer")
    return tuple(collect), found


def _until(here: Here, node: ir.Loop) -> _Until:
    """When the loop ends; a loop without a condition has a node that says to go on."""
    if node.until is None:
        return _constant(node, goes_on=True)
    if not isinstance(node.until, ir.When):
        raise CannotSay(f"{words_for(node.until)} as a condition", _WHILE)
    test = parsed(node.until.test).value
    if isinstance(test, tree.Literal) and isinstance(test.value, bool):
        return _constant(node, goes_on=not test.value)
    ref, sign, wanted = _compared(here, test)
    source = source_of(tree_of(expression(ref.source)))
    if not isinstance(source, Out) or source.node not in {one.name for one in node.body.nodes}:
        raise CannotSay(f"the condition {node.until.test.source[:60]!r}", _WHILE)
    name = quoted(f"{source.node}.{source.port}")
    goes_on = called("continues", name, quoted(OPPOSITES[sign]), literal(wanted), ref.source)
    return ir.When(expression(f"not {goes_on}")), None


def _constant(node: ir.Loop, *, goes_on: bool) -> _Until:
    name = f"{node.name}_goes_on" if goes_on else f"{node.name}_ends"
    while any(one.name == name for one in node.body.nodes):
        name += "_"
    value = ir.Fields((("value", ir.Constant(goes_on)),))
    decider = ir.Compute(name=name, value=value)
    return ir.When(expression(f"not {called('goes_on', output(name, 'value'))}")), decider


def _compared(here: Here, test: tree.Expr | None) -> tuple[Ref, str, bool | int | float | str]:
    match test:
        case tree.Unary(operator="not", operand=operand):
            return _truth(here, operand), "==", False
        case tree.Comparison(first=first, rest=((sign, tree.Literal(value=wanted)),)):
            ref = here.ref_of(first)
            kind = type_of(wanted)
            numbers = ("integer", "number")
            alike = ref.type == kind or (ref.type in numbers and kind in numbers)
            is_ordered = sign in ("==", "!=") or kind in ("text", *numbers)
            if wanted is not None and alike and is_ordered and sign in OPPOSITES:
                return ref, sign, wanted
            raise CannotSay("a comparison of values of other types", _WHILE)
        case tree.Name() | tree.Member():
            return _truth(here, test), "==", True
    raise CannotSay("a condition that is no comparison", _WHILE)


def _truth(here: Here, node: tree.Expr) -> Ref:
    ref = here.ref_of(node)
    if ref.type != "boolean":
        raise CannotSay(f"{'.'.join(path_of(node) or ())!r} as a condition", _WHILE)
    return ref
