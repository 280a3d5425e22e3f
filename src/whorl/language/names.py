"""The free names of a tree: what it expects its scope to know, and where it says so."""

from __future__ import annotations

from itertools import takewhile
from typing import TypeAlias

from whorl.language import tree
from whorl.language.tree import children
from whorl.lazily import dataclass

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NameUse:
    """One use of a name; `guarded` means that its absence is provided for."""

    name: str
    path: Path
    offset: int
    guarded: bool


Guards: TypeAlias = frozenset[tuple[str, Path]]
NO_GUARDS: Guards = frozenset()


def free_names_of(source: tree.Tree) -> tuple[NameUse, ...]:
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
        self, node: tree.Expr, bound: set[str], guards: Guards, *, handled: bool = False
    ) -> None:
        """Visit an expression; `handled` means that it may be undefined without harm."""
        path = path_of(node)
        if path is not None:
            self._use(*path, bound, guards, handled=handled)
            # The computed keys inside a path, such as `b` in `a[b].c`.
            while isinstance(node, tree.Member | tree.Item):
                if isinstance(node, tree.Item) and not isinstance(node.key, tree.Literal):
                    self.expression(node.key, bound, guards)
                node = node.target
            return
        match node:
            case tree.Conditional():
                self.expression(node.test, bound, guards)
                for outcome, part in ((True, node.then), (False, node.otherwise)):
                    if part is not None:
                        inner = guards | guards_of(node.test, outcome)
                        self.expression(part, bound, inner, handled=handled)
            case tree.Logic():
                for operand in node.operands:
                    self.expression(operand, bound, guards, handled=handled)
                    guards |= guards_of(operand, node.operator == "and")
            case _:
                handles = False
                if isinstance(node, tree.Apply):
                    handles = (node.function.kind, node.function.name) in _HANDLING
                    self._read(node)
                for position, child in enumerate(children(node)):
                    self.expression(child, bound, guards, handled=handles and position == 0)

    def _use(
        self, name: tree.Name, path: Path, bound: set[str], guards: Guards, *, handled: bool
    ) -> None:
        if name.name in bound or name.name == tree.CAPTURED:
            return
        guarded = handled or any(
            guard == name.name and (inner[: len(path)] == path or path[: len(inner)] == inner)
            for guard, inner in guards
        )
        self.uses.append(NameUse(name.name, path, name.offset, guarded))

    def _read(self, node: tree.Apply) -> None:
        """Note what a function looks up: its literal arguments, up to the first other, say what."""
        if node.function.reads:
            keys = takewhile(lambda key: key is not None, map(_key, node.arguments))
            path: Path = tuple(keys)  # type: ignore[arg-type]
            self.uses.append(NameUse(node.function.reads, path, node.offset, guarded=False))

    def body(self, body: tree.Body, bound: set[str], guards: Guards) -> None:
        """Visit statements; `bound` takes up the names that they bind."""
        for node in body:
            self._statement(node, bound, guards)

    def _statement(self, node: tree.Stmt, bound: set[str], guards: Guards) -> None:
        if not isinstance(node, tree.If):
            # The expressions outside of bodies, which see what is bound so far.
            for child in children(node):
                self.expression(child, bound, guards)
        match node:
            case tree.If():
                for test, body in node.cases:
                    self.expression(test, bound, guards)
                    self.body(body, bound, guards | guards_of(test, True))
                    guards |= guards_of(test, False)
                self.body(node.otherwise, bound, guards)
            case tree.For():
                inner = bound | names_of(node.target) | {"loop"}
                self.body(node.otherwise, set(bound), guards)
                if node.test is not None:
                    self.expression(node.test, inner, guards)
                    guards |= guards_of(node.test, True)
                self.body(node.body, inner, guards)
            case tree.Assign():
                bound |= names_of(node.target)
            case tree.Capture():
                self.body(node.body, set(bound), guards)
                bound.add(node.target)


_HANDLING = frozenset(
    (("filter", "default"), ("filter", "d"), ("test", "defined"), ("test", "undefined"))
)


def path_of(node: tree.Expr) -> tuple[tree.Name, Path] | None:
    """Return the name at the root of `a.b[0]` and its static path, up to the first computed key."""
    name, keys = _keys_of(node)
    if name is None:
        return None
    return name, tuple(takewhile(lambda key: key is not None, keys))  # type: ignore[arg-type]


def whole_path_of(node: tree.Expr) -> tuple[tree.Name, Path] | None:
    """Return the name and the path of an expression that is nothing else, and all of it static."""
    path = path_of(node)
    return path if path is not None and len(path[1]) == len(_keys_of(node)[1]) else None


def _keys_of(node: tree.Expr) -> tuple[tree.Name | None, list[str | int | None]]:
    """The name at the root of a path and the keys behind it; None for a computed one."""
    keys: list[str | int | None] = []
    while isinstance(node, tree.Member | tree.Item):
        keys.append(node.name if isinstance(node, tree.Member) else _key(node.key))
        node = node.target
    return (node if isinstance(node, tree.Name) else None), keys[::-1]


def _key(node: tree.Expr) -> str | int | None:
    """The key that a literal is; None for anything else."""
    if isinstance(node, tree.Unary) and node.operator == "-":
        number = _key(node.operand)
        return -number if isinstance(number, int) else None
    if isinstance(node, tree.Literal) and isinstance(node.value, str | int):
        return node.value
    return None


def is_borrowed(node: tree.Expr) -> bool:
    """Tell whether an expression only reads its scope, so that its value is JSON as it stands."""
    while isinstance(node, tree.Member | tree.Item):
        node = node.target
    return isinstance(node, tree.Name) or (isinstance(node, tree.Apply) and node.function.borrows)


def names_of(target: tree.Target) -> set[str]:
    """Return the names that an assignment binds."""
    if isinstance(target, str):
        return {target}
    return {name for part in target.parts for name in names_of(part)}


def guards_of(test: tree.Expr, outcome: bool) -> Guards:
    """Return the paths that are certainly defined where a test had this outcome."""
    match test:
        case tree.Unary(operator="not"):
            return guards_of(test.operand, not outcome)
        case tree.Logic() if (test.operator == "and") is outcome:
            return NO_GUARDS.union(*(guards_of(operand, outcome) for operand in test.operands))
        case tree.Apply() if test.function.kind == "test":
            wanted = "defined" if outcome else "undefined"
            path = path_of(test.arguments[0])
            if test.function.name == wanted and path is not None:
                return frozenset(((path[0].name, path[1]),))
    return NO_GUARDS
