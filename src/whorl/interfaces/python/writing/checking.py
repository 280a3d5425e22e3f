"""What is checked in the source of a workflow: options that there are not, and declared state."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REQUESTS = (
    "ask",
    "judge",
    "agent",
    "http",
    "command",
    "approve",
    "sleep",
    "value",
    "each",
    "loop",
)


def tree_of(function: Callable[..., Any]) -> ast.AsyncFunctionDef | None:
    """Returns the syntax tree of a function, or None if its source is not there."""
    try:
        parsed = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    first = parsed.body[0] if parsed.body else None
    return first if isinstance(first, ast.AsyncFunctionDef) else None


def names_in(function: Callable[..., Any]) -> frozenset[str]:
    """Returns the variables and functions of a module, and the names that it gives requests."""
    try:
        tree = ast.parse(inspect.getsource(inspect.getmodule(function) or function))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.keyword) and node.arg == "name":
            names.add(str(getattr(node.value, "value", "")))
    return frozenset(names)


def check_code(function: Callable[..., Any]) -> None:
    """Refuses options of requests that there are not, before a run begins."""
    tree = tree_of(function)
    for call in ast.walk(tree) if tree is not None else ():
        if isinstance(call, ast.Call) and (name := _requested(call, function)):
            known = _options(name)
            for word in (each.arg for each in call.keywords if each.arg is not None):
                if word not in known:
                    hint = did_you_mean(word, known) or f"there are {', '.join(known)}"
                    line = function.__code__.co_firstlineno + call.lineno - 1
                    place = f"{function.__code__.co_filename}:{line}"
                    raise UsageError(f"whorl.{name} has no option {word!r}: {hint} ({place})")


def _requested(call: ast.Call, function: Callable[..., Any]) -> str:
    """Returns the name of a request of ours that is called, or ""."""
    import whorl

    names = function.__globals__
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if names.get(module) is whorl:
            return name if name in _REQUESTS else ""
        case ast.Name(id=name) if name in _REQUESTS and names.get(name) is getattr(whorl, name):
            return name
    return ""


def _options(name: str) -> list[str]:
    import whorl
    from whorl.interfaces.python.writing.requests import OPTIONS

    parameters = inspect.signature(getattr(whorl, name)).parameters.values()
    named = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    return [*named, *(OPTIONS if name == "ask" else ())]


# Loops that declare their state: nothing else may go from one iteration to the next.


def keeps_state(function: Callable[..., Any]) -> bool:
    """Returns whether a workflow has loops with `state`; refuses locals that leave an iteration."""
    tree = tree_of(function)
    if tree is None:
        return False
    loops = {name: call for name, call in _assigned_loops(tree) if _has_state(call)}
    found = False
    for each in ast.walk(tree):
        if not isinstance(each, ast.AsyncFor):
            continue
        is_named = isinstance(each.iter, ast.Name) and each.iter.id in loops
        if is_named or (isinstance(each.iter, ast.Call) and _has_state(each.iter)):
            found = True
            _check_locals(tree, each)
    return found


def _has_state(call: ast.Call) -> bool:
    return any(keyword.arg == "state" for keyword in call.keywords)


def _assigned_loops(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            for target in each.targets:
                if isinstance(target, ast.Name):
                    yield target.id, each.value


def _check_locals(tree: ast.AST, loop: ast.AsyncFor) -> None:
    """Refuses a local that is set in the body and read by the next iteration, or after the loop."""
    turn = loop.target.id if isinstance(loop.target, ast.Name) else ""
    inside = {id(node) for statement in loop.body for node in ast.walk(statement)}
    written = {name for name in _stored(loop) if name != turn}
    outside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
    ]
    after = {node.id for node in outside if node.lineno > loop.lineno}
    for name in sorted(written):
        first = _first_use(loop, name)
        if name in after or isinstance(first, ast.Load):
            words = f"{name!r} goes from one iteration to the next, or out of the loop, which "
            raise UsageError(
                f"{words}declares its state",
                help=f"put it into `{turn or 'turn'}.state`, or into `{turn or 'turn'}.value`",
                code="W007",
            )


def _stored(loop: ast.AsyncFor) -> set[str]:
    names = set()
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                names.add(node.id)
    return names


def _first_use(loop: ast.AsyncFor, name: str) -> ast.expr_context | None:
    """Returns how the body uses a name first; a value is read before it is assigned."""
    uses: list[tuple[int, int, ast.expr_context]] = []
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name:
                uses.append((node.lineno, 0, ast.Load()))
            if isinstance(node, ast.Name) and node.id == name:
                order = 0 if isinstance(node.ctx, ast.Load) else 1
                uses.append((node.lineno, order, node.ctx))
    return min(uses, key=lambda use: use[:2])[2] if uses else None
