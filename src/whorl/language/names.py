"""The free names of a tree: what it expects its scope to know, and where it says so."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from whorl.language import tree
from whorl.language.tree import children

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
        walker.expression(source.value, frozenset(), NO_GUARDS)
    return tuple(sorted(walker.uses, key=lambda use: use.offset))


class _Walker:
    def __init__(self) -> None:
        self.uses: list[NameUse] = []

    def expression(
        self, node: tree.Expr, bound: frozenset[str], guards: Guards, *, handled: bool = False
    ) -> None:
        """Visit an expression; `handled` means that it may be undefined without harm."""
        found = path_of(node)
        if found is not None:
            self._use(found, bound, guards, handled)
            self._keys(node, bound, guards)
            return
        match node:
            case tree.Conditional():
                self._conditional(node, bound, guards, handled)
            case tree.Logic():
                self._logic(node, bound, guards, handled)
            case tree.Apply():
                self._apply(node, bound, guards)
            case _:
                for child in children(node):
                    self.expression(child, bound, guards)

    def _use(
        self,
        found: tuple[tree.Name, Path],
        bound: frozenset[str],
        guards: Guards,
        handled: bool,
    ) -> None:
        name, path = found
        if name.name in bound or name.name == tree.CAPTURED:
            return
        guarded = handled or any(
            guard == name.name and (inner[: len(path)] == path or path[: len(inner)] == inner)
            for guard, inner in guards
        )
        self.uses.append(NameUse(name.name, path, name.offset, guarded))

    def _keys(self, node: tree.Expr, bound: frozenset[str], guards: Guards) -> None:
        """Visit the computed keys inside a path, such as `b` in `a[b].c`."""
        while isinstance(node, tree.Member | tree.Item):
            if isinstance(node, tree.Item) and not isinstance(node.key, tree.Literal):
                self.expression(node.key, bound, guards)
            node = node.target

    def _conditional(
        self, node: tree.Conditional, bound: frozenset[str], guards: Guards, handled: bool
    ) -> None:
        self.expression(node.test, bound, guards)
        self.expression(node.then, bound, guards | guards_of(node.test, True), handled=handled)
        if node.otherwise is not None:
            inner = guards | guards_of(node.test, False)
            self.expression(node.otherwise, bound, inner, handled=handled)

    def _logic(
        self, node: tree.Logic, bound: frozenset[str], guards: Guards, handled: bool
    ) -> None:
        for operand in node.operands:
            self.expression(operand, bound, guards, handled=handled)
            guards |= guards_of(operand, node.operator == "and")

    def _apply(self, node: tree.Apply, bound: frozenset[str], guards: Guards) -> None:
        if node.function.reads:
            self.uses.append(
                NameUse(node.function.reads, _named(node.arguments), node.offset, guarded=False)
            )
        handles = (node.function.kind, node.function.name) in _HANDLING
        for position, child in enumerate(children(node)):
            self.expression(child, bound, guards, handled=handles and position == 0)

    def body(self, body: tree.Body, bound: set[str], guards: Guards) -> None:
        """Visit statements; `bound` takes up the names that they bind."""
        for statement in body:
            self._statement(statement, bound, guards)

    def _statement(self, node: tree.Stmt, bound: set[str], guards: Guards) -> None:
        match node:
            case tree.If():
                self._if(node, bound, guards)
            case tree.For():
                self._for(node, bound, guards)
            case tree.Assign():
                self.expression(node.value, frozenset(bound), guards)
                bound |= names_of(node.target)
            case tree.Capture() | tree.Filtered():
                self.body(node.body, set(bound), guards)
                self.expression(node.value, frozenset(bound), guards)
                if isinstance(node, tree.Capture):
                    bound.add(node.target)
            case tree.With():
                for _, value in node.bindings:
                    self.expression(value, frozenset(bound), guards)
                inner = {name for target, _ in node.bindings for name in names_of(target)}
                self.body(node.body, bound | inner, guards)
            case tree.Macro():
                bound.add(node.name)
                self._macro(node, bound | {"caller"}, guards)
            case tree.CallBlock():
                self.expression(node.call, frozenset(bound), guards)
                self._macro(node.caller, bound, guards)
            case _:
                for child in children(node):
                    self.expression(child, frozenset(bound), guards)

    def _if(self, node: tree.If, bound: set[str], guards: Guards) -> None:
        for test, body in node.cases:
            self.expression(test, frozenset(bound), guards)
            self.body(body, bound, guards | guards_of(test, True))
            guards |= guards_of(test, False)
        self.body(node.otherwise, bound, guards)

    def _for(self, node: tree.For, bound: set[str], guards: Guards) -> None:
        self.expression(node.items, frozenset(bound), guards)
        inner = bound | names_of(node.target) | {"loop"}
        if node.test is not None:
            self.expression(node.test, frozenset(inner), guards)
            self.body(node.body, set(inner), guards | guards_of(node.test, True))
        else:
            self.body(node.body, set(inner), guards)
        self.body(node.otherwise, set(bound), guards)

    def _macro(self, node: tree.Macro, bound: set[str], guards: Guards) -> None:
        for default in node.defaults:
            self.expression(default, frozenset(bound), guards)
        self.body(node.body, bound | set(node.parameters), guards)


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
    found = path_of(node)
    return found if found is not None and len(found[1]) == len(_keys_of(node)[1]) else None


def _keys_of(node: tree.Expr) -> tuple[tree.Name | None, list[str | int | None]]:
    """The name at the root of a path and the keys behind it; None for a computed one."""
    keys: list[str | int | None] = []
    while isinstance(node, tree.Member | tree.Item):
        keys.append(node.name if isinstance(node, tree.Member) else _static(node.key))
        node = node.target
    return (node if isinstance(node, tree.Name) else None), keys[::-1]


def _static(key: tree.Expr) -> str | int | None:
    if isinstance(key, tree.Unary) and key.operator == "-":
        number = _static(key.operand)
        return -number if isinstance(number, int) else None
    if isinstance(key, tree.Literal) and isinstance(key.value, str | int):
        return key.value
    return None


def is_borrowed(node: tree.Expr) -> bool:
    """Tell whether an expression only reads its scope, so that its value is JSON as it stands."""
    while isinstance(node, tree.Member | tree.Item):
        node = node.target
    return isinstance(node, tree.Name) or (isinstance(node, tree.Apply) and node.function.borrows)


def _named(arguments: tuple[tree.Expr, ...]) -> Path:
    """Return the literal arguments of a function that reads the scope, up to the first other."""
    path: list[str | int] = []
    for argument in arguments:
        if not isinstance(argument, tree.Literal) or not isinstance(argument.value, str | int):
            break
        path.append(argument.value)
    return tuple(path)


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
            found = path_of(test.arguments[0])
            if test.function.name == wanted and found is not None:
                return frozenset(((found[0].name, found[1]),))
    return NO_GUARDS
