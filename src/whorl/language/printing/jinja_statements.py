"""Jinja templates: texts, `{{ }}` and the tags around them."""

from __future__ import annotations

from typing import assert_never

from whorl.language import tree
from whorl.language.printing.faults import CannotSay
from whorl.language.printing.jinja import OR, arguments, closed, filter_call, name_of, printed

_MARKS = ("{{", "{%", "{#")
_END = "endraw"


def print_template(source: tree.Tree) -> str:
    """Print a tree as a template; a single value keeps its type."""
    if source.value is not None:
        return _emit(source.value)
    text = _body(source.body)
    parts = [one for one in source.body if not isinstance(one, tree.Text) or one.text]
    is_one = len(parts) == 1 and isinstance(parts[0], tree.Emit)
    # A template that is one expression would keep the type of its value; this is its text.
    return f"{text}{{# as text #}}" if is_one else text


def literal(text: str) -> str:
    """A text as a template that gives just this text."""
    if not any(mark in text for mark in _MARKS) and not text.endswith("{") and "\r" not in text:
        return text
    if _END in text or "\r" in text:
        return _emit(tree.Literal(text))
    return f"{{% raw %}}{text}{{% endraw %}}"


def _body(body: tree.Body) -> str:
    return "".join(_statement(statement) for statement in body)


def _emit(value: tree.Expr) -> str:
    return f"{{{{ {printed(value)} }}}}"


def _tag(words: str) -> str:
    return f"{{% {words} %}}"


def _statement(node: tree.Stmt) -> str:
    match node:
        case tree.Text():
            return literal(node.text)
        case tree.Emit():
            return _emit(node.value)
        case tree.If():
            return _if(node)
        case tree.For():
            return _for(node)
        case tree.Assign():
            return _tag(f"set {_target(node.target)} = {printed(node.value)}")
        case tree.AssignMember():
            place = f"{name_of(node.namespace)}.{name_of(node.member)}"
            return _tag(f"set {place} = {printed(node.value)}")
        case tree.Capture():
            filters = "".join(f" | {part}" for part in _filters(node.value))
            return _tag(f"set {name_of(node.target)}{filters}") + _body(node.body) + _tag("endset")
        case tree.Filtered():
            words = " | ".join(_filters(node.value))
            return _tag(f"filter {words}") + _body(node.body) + _tag("endfilter")
        case tree.With():
            pairs = ", ".join(f"{_target(t)} = {printed(value)}" for t, value in node.bindings)
            return _tag(f"with {pairs}".strip()) + _body(node.body) + _tag("endwith")
        case tree.Macro():
            head = f"macro {name_of(node.name)}({_parameters(node)})"
            return _tag(head) + _body(node.body) + _tag("endmacro")
        case tree.CallBlock():
            return _call_block(node)
        case _:
            assert_never(node)


def _if(node: tree.If) -> str:
    words = ["if", *["elif"] * (len(node.cases) - 1)]
    cases = zip(words, node.cases, strict=True)
    text = "".join(
        _tag(f"{word} {printed(test, OR)}") + _body(body) for word, (test, body) in cases
    )
    return text + _otherwise(node.otherwise) + _tag("endif")


def _for(node: tree.For) -> str:
    head = f"for {_target(node.target)} in {closed(node.items)}"
    if node.test is not None:
        head += f" if {printed(node.test)}"
    return _tag(head) + _body(node.body) + _otherwise(node.otherwise) + _tag("endfor")


def _otherwise(body: tree.Body) -> str:
    return _tag("else") + _body(body) if body else ""


def _target(target: tree.Target) -> str:
    if isinstance(target, str):
        return name_of(target)
    parts = (f"({_target(p)})" if not isinstance(p, str) else _target(p) for p in target.parts)
    return ", ".join(parts) + ("," if len(target.parts) == 1 else "")


def _filters(value: tree.Expr) -> list[str]:
    """The filters that a captured body goes through, in their order."""
    found: list[str] = []
    while isinstance(value, tree.Apply) and value.function.kind == "filter":
        found.insert(0, filter_call(value))
        value = value.arguments[0]
    if not isinstance(value, tree.Name) or value.name != tree.CAPTURED:
        raise CannotSay("a captured text inside of an expression", "only filters follow a body")
    return found


def _parameters(node: tree.Macro) -> str:
    first = len(node.parameters) - len(node.defaults)
    plain = [name_of(name) for name in node.parameters[:first]]
    given = zip(node.parameters[first:], node.defaults, strict=True)
    return ", ".join([*plain, *(f"{name_of(name)}={printed(value)}" for name, value in given)])


def _call_block(node: tree.CallBlock) -> str:
    call = node.call
    parameters = f"({_parameters(node.caller)})" if node.caller.parameters else ""
    head = f"call{parameters} {name_of(call.name)}({arguments(call.arguments, call.keywords)})"
    return _tag(head) + _body(node.caller.body) + _tag("endcall")
