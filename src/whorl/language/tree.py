"""The one tree that every syntax is read into: expressions and statements as frozen data.

It also tells whether an expression stays cheap.

Offsets count characters into the source. Operators that chain without nesting (`a + b + c`, `a or b
or c`) are flat, so that a long chain is not a deep tree. Nodes are compared by identity: classes
with comparison would take a third longer to make at each start.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias, dataclass_transform
from typing import Literal as OneOf

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language.calls import FunctionEntry


@dataclass_transform(frozen_default=True, eq_default=False)
class Node:
    """Makes each class below a frozen dataclass without comparison."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)


ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "//", "%", "**"]
ComparisonOperator: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">=", "in", "not in"]


class Literal(Node):
    """A constant scalar."""

    value: bool | int | float | str | None
    offset: int = 0


class Name(Node):
    """A variable."""

    name: str
    offset: int


class Member(Node):
    """`target.name`."""

    target: Expr
    name: str
    offset: int


class Item(Node):
    """`target[key]`; `forgiving` means that a missing item is null, if that is not the rule."""

    target: Expr
    key: Expr
    offset: int
    forgiving: bool = False


class Slice(Node):
    """`target[start:stop:step]`."""

    target: Expr
    start: Expr | None
    stop: Expr | None
    step: Expr | None
    offset: int


class ListDisplay(Node):
    """`[a, b]`."""

    items: tuple[Expr, ...]
    offset: int


class ObjectDisplay(Node):
    """`{key: value}`."""

    pairs: tuple[tuple[Expr, Expr], ...]
    offset: int


class Unary(Node):
    """`not a`, `-a`, `+a`."""

    operator: OneOf["not", "-", "+"]
    operand: Expr
    offset: int


class Arithmetic(Node):
    """Operators applied from left to right."""

    first: Expr
    rest: tuple[tuple[ArithmeticOperator, Expr], ...]
    offset: int


class Comparison(Node):
    """A chain of comparisons, all of which must hold."""

    first: Expr
    rest: tuple[tuple[ComparisonOperator, Expr], ...]
    offset: int


class Logic(Node):
    """`a and b and c` or `a or b or c`; gives the deciding operand, or the first but null."""

    operator: OneOf["and", "or", "coalesce"]
    operands: tuple[Expr, ...]
    offset: int


class Concat(Node):
    """Texts joined."""

    parts: tuple[Expr, ...]
    offset: int


class Conditional(Node):
    """`then if test else otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr | None
    offset: int


class Apply(Node):
    """A filter, test or function of a library, its arguments bound to its parameters."""

    function: FunctionEntry
    arguments: tuple[Expr, ...]
    extra: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    offset: int


class MethodCall(Node):
    """`target.name(...)`; the kind of the target decides which function it is."""

    target: Expr
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
)


class TargetNames(Node):
    """Names that take the parts of a list."""

    parts: tuple[Target, ...]


Target: TypeAlias = str | TargetNames


class Text(Node):
    """Literal text."""

    text: str


class Emit(Node):
    """`{{ value }}`."""

    value: Expr
    offset: int


class If(Node):
    """The first case whose test holds, or the otherwise body."""

    cases: tuple[tuple[Expr, Body], ...]
    otherwise: Body


class For(Node):
    """A loop over a list, the keys of an object or the characters of a text."""

    target: Target
    items: Expr
    test: Expr | None
    body: Body
    otherwise: Body
    uses_loop: bool
    offset: int


class Assign(Node):
    """`{% set target = value %}`."""

    target: Target
    value: Expr
    offset: int


class AssignMember(Node):
    """`{% set namespace.member = value %}`."""

    namespace: str
    member: str
    value: Expr
    offset: int


class Capture(Node):
    """`{% set target %}body{% endset %}`; `value` is the captured text after its filters."""

    target: str
    body: Body
    value: Expr
    offset: int


Stmt: TypeAlias = Text | Emit | If | For | Assign | AssignMember | Capture
Body: TypeAlias = tuple[Stmt, ...]

# The name under which a captured body enters the filters that follow it; no source can spell it.
CAPTURED = "{captured}"


class Tree(Node):
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
    """Return the expressions directly inside a node, except those that pay for themselves."""
    parts = [part for name, part in vars(node).items() if (type(node), name) != (For, "test")]
    for part in parts:
        if isinstance(part, tuple):
            parts.extend(part)
    return [part for part in parts if isinstance(part, Expr)]


# Tells expressions that stay cheap where they read small values from those that may not.
#
# A light expression takes about as long as what it reads is large: it repeats nothing, searches for
# no pattern and makes nothing large of something small. All others may use up their fuel.

_TIMES_MAX = 1_000
_NAMES = """
    upper lower capitalize title trim string safe truncate wordcount escape e split startswith
    endswith length count first last join list items attr default d min max sum abs int float round
    tojson sha256 strip lstrip rstrip splitlines find index get keys values
    and or not if equals greater greaterorequals less lessorequals add sub div mod bool json concat
    coalesce empty contains tolower toupper createarray array
"""
_LIGHT = frozenset(_NAMES.split())
_HEAVY_TESTS = frozenset({"search", "match"})


def is_light(source: Tree) -> bool:
    """Tell whether an expression is cheap if the values that it reads are small."""
    return all(map(_is_light, _nodes(source)))


def _is_light(node: Expr | Stmt) -> bool:
    match node:
        case Apply():
            function = node.function
            if function.kind == "test":
                return function.name not in _HEAVY_TESTS
            return bool(function.reads) or function.name.lower() in _LIGHT
        case MethodCall():
            return node.name in _LIGHT
        case Arithmetic():
            return all(_is_small(step, node.first) for step in node.rest)
    return not isinstance(node, For)


def _is_small(step: tuple[str, Expr], first: Expr) -> bool:
    operator, operand = step
    if operator not in ("*", "**"):
        return True
    literals = [n.value for n in (first, operand) if isinstance(n, Literal)]
    numbers = [n for n in literals if isinstance(n, int | float) and abs(n) <= _TIMES_MAX]
    return operator == "*" and bool(numbers)


def _nodes(source: Tree) -> Iterator[Expr | Stmt]:
    waiting: list[object] = [source.value, *source.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, Node):
            yield node  # type: ignore[misc]
            waiting.extend(vars(node).values())


# The free names of a tree: what it expects its scope to know, and where it says so.

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NameUse:
    """One use of a name; `guarded` means that the expression handles its absence."""

    name: str
    path: Path
    offset: int
    guarded: bool


Guards: TypeAlias = frozenset[tuple[str, Path]]
NO_GUARDS: Guards = frozenset()


def free_names_of(source: Tree) -> tuple[NameUse, ...]:
    """Find all uses of names that the source does not bind itself, in the order of the source."""
    walker = _Walker()
    if source.body:
        walker.body(source.body, set(), NO_GUARDS)
    elif source.value is not None:
        walker.expression(source.value, set(), NO_GUARDS)
    return tuple(sorted(walker.uses, key=lambda use: use.offset))


class _Walker:
    def __init__(self) -> None:
        self.uses: list[NameUse] = []

    def expression(
        self, node: Expr, bound: set[str], guards: Guards, *, handled: bool = False
    ) -> None:
        """Visit an expression; `handled` means that it may be undefined without harm."""
        path = path_of(node)
        if path is not None:
            self._use(*path, bound, guards, handled=handled)
            # The computed keys inside a path, such as `b` in `a[b].c`.
            while isinstance(node, Member | Item):
                if isinstance(node, Item) and not isinstance(node.key, Literal):
                    self.expression(node.key, bound, guards)
                node = node.target
            return
        match node:
            case Conditional():
                self.expression(node.test, bound, guards)
                for outcome, part in ((True, node.then), (False, node.otherwise)):
                    if part is not None:
                        inner = guards | guards_of(node.test, outcome)
                        self.expression(part, bound, inner, handled=handled)
            case Logic():
                for operand in node.operands:
                    self.expression(operand, bound, guards, handled=handled)
                    guards |= guards_of(operand, node.operator == "and")
            case _:
                handles = False
                if isinstance(node, Apply):
                    handles = (node.function.kind, node.function.name) in _HANDLING
                    self._read(node)
                for position, child in enumerate(children(node)):
                    self.expression(child, bound, guards, handled=handles and position == 0)

    def _use(
        self, name: Name, path: Path, bound: set[str], guards: Guards, *, handled: bool
    ) -> None:
        if name.name in bound or name.name == CAPTURED:
            return
        guarded = handled or any(
            guard == name.name and (inner[: len(path)] == path or path[: len(inner)] == inner)
            for guard, inner in guards
        )
        self.uses.append(NameUse(name.name, path, name.offset, guarded))

    def _read(self, node: Apply) -> None:
        """Note the names that a function looks up: its literal arguments, up to the first other."""
        if node.function.reads:
            keys = takewhile(lambda key: key is not None, map(_key, node.arguments))
            path: Path = tuple(keys)  # type: ignore[arg-type]
            self.uses.append(NameUse(node.function.reads, path, node.offset, guarded=False))

    def body(self, body: Body, bound: set[str], guards: Guards) -> None:
        """Visit statements; `bound` takes up the names that they bind."""
        for node in body:
            self._statement(node, bound, guards)

    def _statement(self, node: Stmt, bound: set[str], guards: Guards) -> None:
        if not isinstance(node, If):
            # The expressions outside of bodies, which see what is bound so far.
            for child in children(node):
                self.expression(child, bound, guards)
        match node:
            case If():
                for test, body in node.cases:
                    self.expression(test, bound, guards)
                    self.body(body, bound, guards | guards_of(test, True))
                    guards |= guards_of(test, False)
                self.body(node.otherwise, bound, guards)
            case For():
                inner = bound | names_of(node.target) | {"loop"}
                self.body(node.otherwise, set(bound), guards)
                if node.test is not None:
                    self.expression(node.test, inner, guards)
                    guards |= guards_of(node.test, True)
                self.body(node.body, inner, guards)
            case Assign():
                bound |= names_of(node.target)
            case Capture():
                self.body(node.body, set(bound), guards)
                bound.add(node.target)


_HANDLING = frozenset(
    (("filter", "default"), ("filter", "d"), ("test", "defined"), ("test", "undefined"))
)


def path_of(node: Expr) -> tuple[Name, Path] | None:
    """Return the name at the root of `a.b[0]` and its static path, up to the first computed key."""
    name, keys = _keys_of(node)
    if name is None:
        return None
    return name, tuple(takewhile(lambda key: key is not None, keys))  # type: ignore[arg-type]


def whole_path_of(node: Expr) -> tuple[Name, Path] | None:
    """Return the name and the path of an expression that is only a static path."""
    path = path_of(node)
    return path if path is not None and len(path[1]) == len(_keys_of(node)[1]) else None


def _keys_of(node: Expr) -> tuple[Name | None, list[str | int | None]]:
    """Return the name at the root of a path and its keys, with None for a computed key."""
    keys: list[str | int | None] = []
    while isinstance(node, Member | Item):
        keys.append(node.name if isinstance(node, Member) else _key(node.key))
        node = node.target
    return (node if isinstance(node, Name) else None), keys[::-1]


def _key(node: Expr) -> str | int | None:
    """Return the key of a literal, or None for anything else."""
    if isinstance(node, Unary) and node.operator == "-":
        number = _key(node.operand)
        return -number if isinstance(number, int) else None
    if isinstance(node, Literal) and isinstance(node.value, str | int):
        return node.value
    return None


def is_borrowed(node: Expr) -> bool:
    """Tell whether an expression only reads its scope, so that its value is JSON already."""
    while isinstance(node, Member | Item):
        node = node.target
    return isinstance(node, Name) or (isinstance(node, Apply) and node.function.borrows)


def names_of(target: Target) -> set[str]:
    """Return the names that an assignment binds."""
    if isinstance(target, str):
        return {target}
    return {name for part in target.parts for name in names_of(part)}


def guards_of(test: Expr, outcome: bool) -> Guards:
    """Return the paths that are certainly defined if a test had this outcome."""
    match test:
        case Unary(operator="not"):
            return guards_of(test.operand, not outcome)
        case Logic() if (test.operator == "and") is outcome:
            return NO_GUARDS.union(*(guards_of(operand, outcome) for operand in test.operands))
        case Apply() if test.function.kind == "test":
            wanted = "defined" if outcome else "undefined"
            path = path_of(test.arguments[0])
            if test.function.name == wanted and path is not None:
                return frozenset(((path[0].name, path[1]),))
    return NO_GUARDS
