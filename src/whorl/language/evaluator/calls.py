"""Calls as closures: library functions, methods by the kind of value, macros."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from whorl.language import tree
from whorl.language.access import Joiner
from whorl.language.entry import FunctionEntry, call_entry
from whorl.language.evaluator.context import Context, Evaluate
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.values import UNDEFINED, Opaque, Value, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run

Compile: TypeAlias = Callable[[tree.Expr, Context], Evaluate]

# What a function of the libraries may raise besides LanguageError; a call turns it into one.
PYTHON_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AssertionError)


class MacroValue(Opaque):
    """A macro of the template, or the body of a call block."""

    __slots__ = ("call", "name")
    kind = "macro"

    def __init__(
        self, name: str, call: Callable[[Run, Sequence[Value], Mapping[str, Value]], str]
    ) -> None:
        self.name = name
        self.call = call


def compile_apply(node: tree.Apply, context: Context, compile_: Compile) -> Evaluate:
    """Turn the call of a library function into a closure."""
    entry, offset = node.function, node.offset
    call, pay = entry.call, context.semantics.pay
    arguments = [compile_(argument, context) for argument in node.arguments]
    if entry.extra:
        return _variadic(node, context, compile_)

    def applied(run: Run) -> Value:
        values = [argument(run) for argument in arguments]
        try:
            for value in values:
                pay(run, value)
            return pay(run, call(run, *values))
        except LanguageError as error:
            raise error.at(offset) from None
        except PYTHON_FAULTS as error:
            raise _fault(entry, error, offset) from None

    return applied


def _variadic(node: tree.Apply, context: Context, compile_: Compile) -> Evaluate:
    entry, offset, call = node.function, node.offset, node.function.call
    pay = context.semantics.pay
    arguments = [compile_(argument, context) for argument in node.arguments]
    extra = [compile_(argument, context) for argument in node.extra]
    keywords = [(name, compile_(argument, context)) for name, argument in node.keywords]

    def applied(run: Run) -> Value:
        values = [argument(run) for argument in arguments]
        further = tuple([argument(run) for argument in extra])
        named = {name: argument(run) for name, argument in keywords}
        try:
            for value in (*values, *further, *named.values()):
                pay(run, value)
            return pay(run, call(run, *values, further, named))
        except LanguageError as error:
            raise error.at(offset) from None
        except PYTHON_FAULTS as error:
            raise _fault(entry, error, offset) from None

    return applied


def _fault(entry: FunctionEntry, error: Exception, offset: int) -> EvaluationError:
    return EvaluationError(f"{entry.kind} {entry.name!r} failed: {error}", offset)


def compile_method_call(node: tree.MethodCall, context: Context, compile_: Compile) -> Evaluate:
    """Turn `target.name(...)` into a closure."""
    from whorl.language.functions.library import methods
    from whorl.language.functions.methods import owner_of

    target, name, offset = compile_(node.target, context), node.name, node.offset
    arguments = [compile_(argument, context) for argument in node.arguments]
    keywords = [(key, compile_(argument, context)) for key, argument in node.keywords]
    table = methods()

    def called(run: Run) -> Value:
        subject = target(run)
        entry = table.get((owner_of(subject), name))
        if entry is None:
            if name != "get" or (subject is not UNDEFINED and subject is not None):
                raise EvaluationError(f"{kind_of(subject)} has no method {name!r}", offset)
            entry = table["object", "get"]
        values = [argument(run) for argument in arguments]
        named = {key: argument(run) for key, argument in keywords}
        try:
            for value in (subject, *values, *named.values()):
                run.pay(value)
            return run.pay(call_entry(entry, (run, subject), values, named))
        except LanguageError as error:
            raise error.at(offset) from None
        except PYTHON_FAULTS as error:
            raise _fault(entry, error, offset) from None

    return called


def compile_macro_call(node: tree.MacroCall, context: Context, compile_: Compile) -> Evaluate:
    """Turn the call of a name of the template into a closure."""
    name, offset = node.name, node.offset
    arguments = [compile_(argument, context) for argument in node.arguments]
    keywords = [(key, compile_(argument, context)) for key, argument in node.keywords]

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
