"""The one tree that every syntax is read into: expressions and statements as frozen data.

Offsets count characters into the source. Operators that chain without nesting (`a + b + c`,
`a or b or c`) are flat, so that a long chain is not a deep tree. Nodes are told apart by identity:
nothing compares them, and classes that could would be a third slower to make at each start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry


ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "//", "%", "**"]
ComparisonOperator: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">=", "in", "not in"]


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant scalar."""

    value: bool | int | float | str | None
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A variable."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """`target.name`."""

    target: Expr
    name: str
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """`target[key]`; `forgiving` means that what is missing is null, where that is not the rule."""

    target: Expr
    key: Expr
    offset: int
    forgiving: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """`target[start:stop:step]`."""

    target: Expr
    start: Expr | None
    stop: Expr | None
    step: Expr | None
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class ListDisplay:
    """`[a, b]`."""

    items: tuple[Expr, ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class ObjectDisplay:
    """`{key: value}`."""

    pairs: tuple[tuple[Expr, Expr], ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """`not a`, `-a`, `+a`."""

    operator: OneOf["not", "-", "+"]
    operand: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic:
    """Operators applied from left to right."""

    first: Expr
    rest: tuple[tuple[ArithmeticOperator, Expr], ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A chain of comparisons, all of which must hold."""

    first: Expr
    rest: tuple[tuple[ComparisonOperator, Expr], ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Logic:
    """`a and b and c` or `a or b or c`; gives the deciding operand, or the first but null."""

    operator: OneOf["and", "or", "coalesce"]
    operands: tuple[Expr, ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Concat:
    """Texts joined."""

    parts: tuple[Expr, ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """`then if test else otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr | None
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A filter, test or function of a library, its arguments bound to its parameters."""

    function: FunctionEntry
    arguments: tuple[Expr, ...]
    extra: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class MethodCall:
    """`target.name(...)`; the kind of the target decides which function it is."""

    target: Expr
    name: str
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class MacroCall:
    """A call of a name that the template itself defines."""

    name: str
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    offset: int


Expr: TypeAlias = (
    Literal
    | Name
    | Member
    | Item
    | Slice
    | ListDisplay
    | ObjectDisplay
    | Unary
    | Arithmetic
    | Comparison
    | Logic
    | Concat
    | Conditional
    | Apply
    | MethodCall
    | MacroCall
)


@dataclass(frozen=True, slots=True, eq=False)
class TargetNames:
    """Names that take the parts of a list."""

    parts: tuple[Target, ...]


Target: TypeAlias = str | TargetNames


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Emit:
    """`{{ value }}`."""

    value: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """The first case whose test holds, or the otherwise body."""

    cases: tuple[tuple[Expr, Body], ...]
    otherwise: Body


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """A loop over a list, the keys of an object or the characters of a text."""

    target: Target
    items: Expr
    test: Expr | None
    body: Body
    otherwise: Body
    uses_loop: bool
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """`{% set target = value %}`."""

    target: Target
    value: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class AssignMember:
    """`{% set namespace.member = value %}`."""

    namespace: str
    member: str
    value: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Capture:
    """`{% set target %}body{% endset %}`; `value` is the captured text after its filters."""

    target: str
    body: Body
    value: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """`{% filter ... %}body{% endfilter %}`."""

    body: Body
    value: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class With:
    """A body with variables of its own."""

    bindings: tuple[tuple[Target, Expr], ...]
    body: Body
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A named body with parameters."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[Expr, ...]
    body: Body
    depth: int
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class CallBlock:
    """A macro call that passes its body as `caller`."""

    call: MacroCall
    caller: Macro
    offset: int


Stmt: TypeAlias = (
    Text | Emit | If | For | Assign | AssignMember | Capture | Filtered | With | Macro | CallBlock
)
Body: TypeAlias = tuple[Stmt, ...]

# The name under which a captured body enters the filters that follow it; no source can spell it.
CAPTURED = "{captured}"


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An expression (`value`), or a template (`body`); a template of one expression is both."""

    syntax: str
    library: str
    value: Expr | None
    body: Body
    bound: frozenset[str]


def weight_of(node: Expr | Stmt) -> int:
    """Count the nodes of an expression, or of a statement without its bodies, which pay apart."""
    weight = 0
    waiting: list[Expr | Stmt] = [node]
    while waiting:
        weight += 1
        waiting.extend(children(waiting.pop()))
    return weight


def children(node: Expr | Stmt) -> list[Expr]:
    """Return the expressions directly inside a node; none of what pays for itself when it runs."""
    if isinstance(node, Macro):
        return []
    inside: list[Expr] = []
    for name in node.__slots__:
        if not (name == "test" and isinstance(node, For)):
            _collect(getattr(node, name), inside)
    return inside


def _collect(part: object, inside: list[Expr]) -> None:
    if isinstance(part, tuple):
        for piece in part:
            _collect(piece, inside)
    elif isinstance(part, Expr):
        inside.append(part)
