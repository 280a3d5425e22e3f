"""Compiles a tree into closures that return its value, its text and its free names.

Statements are closures: each takes the run and the list of texts that it adds to. Expressions are
closures, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.language import tree
from whorl.language.calls import CALL_FAULTS, FindFunction, Run, call_entry, call_fault
from whorl.language.calls import items as items_of
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.libraries import Semantics, semantics_of
from whorl.language.operators import ARITHMETIC, COMPARISON, sign
from whorl.language.tree import is_borrowed, weight_of
from whorl.language.values import (
    UNDEFINED,
    Group,
    LoopVariable,
    Namespace,
    Value,
    key_text,
    kind_of,
    slice_of,
)
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.language.calls import FunctionEntry, Kind


# Expressions as closures: each takes the run and returns a value.
#
# Straight-line code is not metered step by step: its cost is known when it is compiled, and the
# body that holds it pays for it on entry.

Evaluate: TypeAlias = Callable[[Run], Value]


@dataclass(frozen=True, slots=True)
class Context:
    """The rules of the syntax, and the names that the template itself may bind."""

    semantics: Semantics
    bound: frozenset[str]


def compile_expression(node: tree.Expr, context: Context) -> Evaluate:
    return _EXPRESSIONS[type(node)](node, context)


def _literal(node: tree.Literal, context: Context) -> Evaluate:
    value = node.value
    return lambda run: value


def _list(node: tree.ListDisplay, context: Context) -> Evaluate:
    items = [compile_expression(item, context) for item in node.items]
    return lambda run: [item(run) for item in items]


def _name(node: tree.Name, context: Context) -> Evaluate:
    name = node.name
    if name not in context.bound:
        return context.semantics.names.get(name) or (lambda run: run.lookup(name))

    def local(run: Run) -> Value:
        value = run.locals.get(name, run)
        return run.lookup(name) if value is run else value

    return local


def _member(node: tree.Member, context: Context) -> Evaluate:
    name, read = node.name, context.semantics.member
    special = context.bound | context.semantics.names.keys()
    if isinstance(node.target, tree.Name) and node.target.name not in special:
        root = node.target.name

        def member_of_name(run: Run) -> Value:
            value = run.lookup(root)
            return value.get(name, UNDEFINED) if type(value) is dict else read(value, name)

        return member_of_name
    target = compile_expression(node.target, context)

    def member(run: Run) -> Value:
        value = target(run)
        return value.get(name, UNDEFINED) if type(value) is dict else read(value, name)

    return member


def _item(node: tree.Item, context: Context) -> Evaluate:
    target = compile_expression(node.target, context)
    key = compile_expression(node.key, context)
    read = context.semantics.forgiving_item if node.forgiving else context.semantics.item
    offset = node.offset

    def item(run: Run) -> Value:
        value, index = target(run), key(run)
        if type(value) is dict and len(value) > 255 and type(index) is str and index not in value:
            # A key that is missing as it is written may be searched for among all.
            run.spend(len(value) >> 4)
        try:
            return read(value, index)
        except LanguageError as error:
            raise error.at(offset) from None

    return item


def _slice(node: tree.Slice, context: Context) -> Evaluate:
    target = compile_expression(node.target, context)
    start, stop, step = (
        compile_expression(bound or tree.Literal(None), context)
        for bound in (node.start, node.stop, node.step)
    )
    offset = node.offset

    def sliced(run: Run) -> Value:
        try:
            return run.pay(slice_of(target(run), start(run), stop(run), step(run)))
        except LanguageError as error:
            raise error.at(offset) from None

    return sliced


def _object(node: tree.ObjectDisplay, context: Context) -> Evaluate:
    pairs = [
        (compile_expression(key, context), compile_expression(value, context))
        for key, value in node.pairs
    ]
    offset = node.offset

    def display(run: Run) -> Value:
        try:
            return {key_text(key(run)): value(run) for key, value in pairs}
        except LanguageError as error:
            raise error.at(offset) from None

    return display


def _unary(node: tree.Unary, context: Context) -> Evaluate:
    operand, offset = compile_expression(node.operand, context), node.offset
    if node.operator == "not":
        return lambda run: not operand(run)
    symbol = node.operator

    def signed(run: Run) -> Value:
        try:
            return sign(run, symbol, operand(run))
        except LanguageError as error:
            raise error.at(offset) from None

    return signed


def _arithmetic(node: tree.Arithmetic, context: Context) -> Evaluate:
    first, offset = compile_expression(node.first, context), node.offset
    rest = [
        (ARITHMETIC[symbol], compile_expression(operand, context)) for symbol, operand in node.rest
    ]

    def computed(run: Run) -> Value:
        value = first(run)
        try:
            for operate, operand in rest:
                value = operate(run, value, operand(run))
        except LanguageError as error:
            raise error.at(offset) from None
        return value

    return computed


def _comparison(node: tree.Comparison, context: Context) -> Evaluate:
    first, offset = compile_expression(node.first, context), node.offset
    rest = [
        (COMPARISON[symbol], compile_expression(operand, context)) for symbol, operand in node.rest
    ]
    if len(rest) == 1:
        compare, second = rest[0]

        def compared(run: Run) -> Value:
            try:
                return compare(run, first(run), second(run))
            except LanguageError as error:
                raise error.at(offset) from None

        return compared

    def chained(run: Run) -> Value:
        left = first(run)
        try:
            for compare, operand in rest:
                right = operand(run)
                if not compare(run, left, right):
                    return False
                left = right
        except LanguageError as error:
            raise error.at(offset) from None
        return True

    return chained


def _logic(node: tree.Logic, context: Context) -> Evaluate:
    operands = [compile_expression(operand, context) for operand in node.operands]
    if node.operator == "coalesce":
        return lambda run: next(
            (value for operand in operands if (value := operand(run)) is not None), None
        )
    if len(operands) == 2:
        first, second = operands
        if node.operator == "and":
            return lambda run: first(run) and second(run)
        return lambda run: first(run) or second(run)
    decisive = node.operator == "or"

    def decided(run: Run) -> Value:
        value: Value = None
        for operand in operands:
            value = operand(run)
            if bool(value) is decisive:
                break
        return value

    return decided


def _concat(node: tree.Concat, context: Context) -> Evaluate:
    parts = [compile_expression(part, context) for part in node.parts]
    write, offset = context.semantics.text, node.offset

    def joined(run: Run) -> Value:
        try:
            texts: list[str] = []
            size = 0
            for part in parts:
                text = write(run, part(run))
                size += len(text)
                run.limit_text(size, "'~'")
                texts.append(text)
            run.check_text(size, "'~'")
        except LanguageError as error:
            raise error.at(offset) from None
        return "".join(texts)

    return joined


def _conditional(node: tree.Conditional, context: Context) -> Evaluate:
    test = compile_expression(node.test, context)
    then = compile_expression(node.then, context)
    if node.otherwise is None:
        return lambda run: then(run) if test(run) else UNDEFINED
    otherwise = compile_expression(node.otherwise, context)
    return lambda run: then(run) if test(run) else otherwise(run)


def _apply(node: tree.Apply, context: Context) -> Evaluate:
    entry, offset = node.function, node.offset
    call, pay, borrows = entry.call, context.semantics.pay, entry.borrows
    arguments = [compile_expression(argument, context) for argument in node.arguments]
    extra = [compile_expression(argument, context) for argument in node.extra]
    keywords = [(name, compile_expression(argument, context)) for name, argument in node.keywords]

    def applied(run: Run) -> Value:
        values = [argument(run) for argument in arguments]
        try:
            for value in values:
                run.read(value, pay)
            given = call(run, *values)
            is_passed_on = borrows or (values and given is values[0])
            return run.read(given, pay) if is_passed_on else pay(run, given)
        except CALL_FAULTS as error:
            raise call_fault(entry, error, offset) from None

    def applied_to_any(run: Run) -> Value:
        values = [argument(run) for argument in arguments]
        further = tuple([argument(run) for argument in extra])
        named = {name: argument(run) for name, argument in keywords}
        try:
            for value in (*values, *further, *named.values()):
                run.read(value, pay)
            return pay(run, call(run, *values, further, named))
        except CALL_FAULTS as error:
            raise call_fault(entry, error, offset) from None

    return applied_to_any if entry.extra else applied


def _method_call(node: tree.MethodCall, context: Context) -> Evaluate:
    from whorl.language.core import METHODS_OF
    from whorl.language.core.methods import owner_of

    target, name, offset = compile_expression(node.target, context), node.name, node.offset
    arguments = [compile_expression(argument, context) for argument in node.arguments]
    keywords = [(key, compile_expression(argument, context)) for key, argument in node.keywords]

    def called(run: Run) -> Value:
        subject = target(run)
        entry = METHODS_OF.get((owner_of(subject), name))
        if entry is None:
            if name != "get" or (subject is not UNDEFINED and subject is not None):
                raise EvaluationError(f"{kind_of(subject)} has no method {name!r}", offset)
            entry = METHODS_OF["object", "get"]
        values = [argument(run) for argument in arguments]
        named = {key: argument(run) for key, argument in keywords}
        try:
            for value in (subject, *values, *named.values()):
                run.read(value, Run.pay)
            return run.pay(call_entry(entry, (run, subject), values, named))
        except CALL_FAULTS as error:
            raise call_fault(entry, error, offset) from None

    return called


_EXPRESSIONS: dict[type, Callable[[Any, Context], Evaluate]] = {
    tree.Literal: _literal,
    tree.Name: _name,
    tree.Member: _member,
    tree.Item: _item,
    tree.Slice: _slice,
    tree.ListDisplay: _list,
    tree.ObjectDisplay: _object,
    tree.Unary: _unary,
    tree.Arithmetic: _arithmetic,
    tree.Comparison: _comparison,
    tree.Logic: _logic,
    tree.Concat: _concat,
    tree.Conditional: _conditional,
    tree.Apply: _apply,
    tree.MethodCall: _method_call,
}


Execute: TypeAlias = Callable[[Run, list[str]], None]
Bind: TypeAlias = Callable[[dict[str, Value], Value], None]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression or template; `value` is set only if it is one expression."""

    value: Evaluate | None
    body: Execute
    offset: int
    weight: int
    is_borrowed: bool
    find: FindFunction
    semantics: Semantics


def compile_tree(source: tree.Tree) -> Program:
    context = Context(semantics_of(source.syntax, source.library), source.bound)
    value = None if source.value is None else compile_expression(source.value, context)
    return Program(
        value,
        compile_body(source.body, context),
        0 if source.value is None else source.value.offset,
        0 if source.value is None else weight_of(source.value),
        source.value is not None and is_borrowed(source.value),
        partial(_find, source.library),
        context.semantics,
    )


def _find(library: str, kind: Kind, name: str) -> FunctionEntry:
    # The functions are imported when an expression first looks one up by name.
    from whorl.language.core import find

    return find(library, kind, name)


def compile_body(body: tree.Body, context: Context) -> Execute:
    """Turn statements into one closure that pays for them when it is entered."""
    steps = [_COMPILERS[type(statement)](statement, context) for statement in body]
    weight = sum(map(weight_of, body))

    def execute(run: Run, out: list[str]) -> None:
        run.spend(weight)
        for step in steps:
            step(run, out)

    return execute


def _add(run: Run, out: list[str], text: str) -> None:
    run.emitted += len(text)
    if run.emitted > run.text_max:
        raise LimitExceeded(f"template gives more than {run.text_max} characters")
    if len(text) > 63:
        run.spend(len(text) >> 6)
    out.append(text)


def _text(node: tree.Text, context: Context) -> Execute:
    text = node.text
    return lambda run, out: _add(run, out, text)


def _emit(node: tree.Emit, context: Context) -> Execute:
    value, offset = compile_expression(node.value, context), node.offset
    write = context.semantics.text

    def emit(run: Run, out: list[str]) -> None:
        try:
            _add(run, out, write(run, value(run)))
        except LanguageError as error:
            raise error.at(offset) from None

    return emit


def _if(node: tree.If, context: Context) -> Execute:
    cases = [
        (compile_expression(test, context), compile_body(body, context))
        for test, body in node.cases
    ]
    otherwise = compile_body(node.otherwise, context)

    def choose(run: Run, out: list[str]) -> None:
        for test, body in cases:
            if test(run):
                body(run, out)
                return
        otherwise(run, out)

    return choose


def _for(node: tree.For, context: Context) -> Execute:
    bind, uses_loop = compile_target(node.target, node.offset), node.uses_loop
    items_in = _loop_items(node, context, bind)
    body, otherwise = compile_body(node.body, context), compile_body(node.otherwise, context)

    def repeat(run: Run, out: list[str]) -> None:
        items = items_in(run)
        if not items:
            otherwise(run, out)
            return
        outer = run.locals
        loop = LoopVariable(items) if uses_loop else None
        cost = 1 + (len(outer) >> 2)
        try:
            for index, item in enumerate(items):
                run.spend(cost)
                inner = outer.copy()
                if loop is not None:
                    loop.index = index
                    inner["loop"] = loop
                bind(inner, item)
                run.locals = inner
                body(run, out)
        finally:
            run.locals = outer

    return repeat


def _loop_items(node: tree.For, context: Context, bind: Bind) -> Callable[[Run], list[Value]]:
    source, offset = compile_expression(node.items, context), node.offset
    test = None if node.test is None else compile_expression(node.test, context)
    weight = 1 + (0 if node.test is None else weight_of(node.test))

    def items(run: Run) -> list[Value]:
        try:
            values = items_of(source(run), "for")
            run.check_items(len(values), "for")
        except LanguageError as error:
            raise error.at(offset) from None
        if test is None:
            return values
        outer, kept = run.locals, list[Value]()
        try:
            for item in values:
                run.spend(weight + (len(outer) >> 2))
                run.locals = outer.copy()
                bind(run.locals, item)
                if test(run):
                    kept.append(item)
        finally:
            run.locals = outer
        return kept

    return items


def compile_target(target: tree.Target, offset: int) -> Bind:
    """Turn the left side of an assignment into a function that binds its names."""
    if isinstance(target, str):
        name = target

        def bind_name(names: dict[str, Value], value: Value) -> None:
            names[name] = value

        return bind_name
    parts = [compile_target(part, offset) for part in target.parts]

    def bind_parts(names: dict[str, Value], value: Value) -> None:
        if isinstance(value, Group):
            value = [value["grouper"], value["list"]]
        if not isinstance(value, list | str | dict):
            raise EvaluationError(f"cannot unpack {kind_of(value)} into names", offset)
        if len(value) != len(parts):
            message = f"cannot unpack {len(value)} values into {len(parts)} names"
            raise EvaluationError(message, offset)
        for bind, part in zip(parts, value, strict=True):
            bind(names, part)

    return bind_parts


def _assign(node: tree.Assign, context: Context) -> Execute:
    bind = compile_target(node.target, node.offset)
    value = compile_expression(node.value, context)
    return lambda run, out: bind(run.locals, value(run))


def _assign_member(node: tree.AssignMember, context: Context) -> Execute:
    value, name, member = compile_expression(node.value, context), node.namespace, node.member
    offset = node.offset

    def assign(run: Run, out: list[str]) -> None:
        namespace = run.locals.get(name, UNDEFINED)
        if not isinstance(namespace, Namespace):
            raise EvaluationError(
                f"cannot set a member of {name!r}, which is {kind_of(namespace)}",
                offset,
                f"make it with `set {name} = namespace()`",
            )
        namespace.members[member] = value(run)

    return assign


def _capture(node: tree.Capture, context: Context) -> Execute:
    body, value = compile_body(node.body, context), compile_expression(node.value, context)
    target = node.target

    def capture(run: Run, out: list[str]) -> None:
        outer, emitted = run.locals, run.emitted
        run.locals, run.emitted = outer.copy(), 0
        run.spend(len(outer) >> 2)
        captured: list[str] = []
        try:
            body(run, captured)
        finally:
            run.locals, run.emitted = outer, emitted
        outer[tree.CAPTURED] = "".join(captured)
        outer[target] = value(run)

    return capture


_COMPILERS: dict[type, Callable[[Any, Context], Execute]] = {
    tree.Text: _text,
    tree.Emit: _emit,
    tree.If: _if,
    tree.For: _for,
    tree.Assign: _assign,
    tree.AssignMember: _assign_member,
    tree.Capture: _capture,
}
