"""Expressions as closures: each takes the run and returns a value.

Straight-line code is not metered step by step: its cost is known when it is compiled, and the
body that holds it pays for it on entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.language import tree
from whorl.language.calls import MacroValue, Run
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.operators import ARITHMETIC, COMPARISON, sign
from whorl.language.signatures import CALL_FAULTS, call_entry, call_fault
from whorl.language.values import UNDEFINED, Joiner, Value, key_text, kind_of, slice_of
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.language.libraries import Semantics

Evaluate: TypeAlias = Callable[[Run], Value]


@dataclass(frozen=True, slots=True)
class Context:
    """The rules of the syntax, and the names that the template itself may bind."""

    semantics: Semantics
    bound: frozenset[str]


def compile_expression(node: tree.Expr, context: Context) -> Evaluate:
    """Turn an expression into a closure."""
    return _COMPILERS[type(node)](node, context)


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
    """Turn the call of a library function into a closure."""
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
    """Turn `target.name(...)` into a closure."""
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


def _macro_call(node: tree.MacroCall, context: Context) -> Evaluate:
    """Turn the call of a name of the template into a closure."""
    name, offset = node.name, node.offset
    arguments = [compile_expression(argument, context) for argument in node.arguments]
    keywords = [(key, compile_expression(argument, context)) for key, argument in node.keywords]

    def called(run: Run) -> Value:
        macro = run.locals.get(name, UNDEFINED)
        if isinstance(macro, MacroValue):
            values = [argument(run) for argument in arguments]
            return macro.call(run, values, {key: argument(run) for key, argument in keywords})
        if isinstance(macro, Joiner):
            first, macro.used = not macro.used, True
            return "" if first else macro.separator
        raise EvaluationError(f"{name!r} is {kind_of(macro)}, not a macro", offset)

    return called


_COMPILERS: dict[type, Callable[[Any, Context], Evaluate]] = {
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
    tree.MacroCall: _macro_call,
}
