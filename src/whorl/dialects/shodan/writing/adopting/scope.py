"""What names of another dialect are in a graph: outputs of nodes and inputs, with their types."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.sources import called, quoted
from whorl.dialects.shodan.texts import _PLACE
from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay
from whorl.language.printing.jinja import printed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from whorl.dialects.writing import Ledger

Path = tuple[str, ...]
# Types whose values are printed alike everywhere; null and 2.0 are not.
PRINTED = ("text", "integer", "boolean", "list", "object")
_PLAIN = "a text holds outputs of nodes and inputs as they are"
_ONE = "a node is given outputs of nodes and inputs as they are"


@dataclass(frozen=True, slots=True)
class Ref:
    """What stands for a name: an expression, and the type of its value.

    `at` makes the expression at a node that needs a port for it, with a default if that may be
    given and for nodes right inside of the loop that counts by the name `loop`; what is `absent`
    at first has the empty text for its own.
    """

    source: str
    type: str = "any"
    at: Callable[[str, str], str] | None = None
    absent: bool = False
    loop: str = ""


@dataclass(slots=True)
class Here:
    """A place in the workflow, the names that are known there, and those that were read."""

    ledger: Ledger
    refs: Mapping[Path, Ref]
    reads: Collection[Path]
    spot: Spot = field(default_factory=Spot)
    node: str = ""
    used: set[str] = field(default_factory=set)
    # The name by which the innermost loop counts.
    loop: str = ""

    def at(self, node: ir.Node) -> Here:
        """The same at a node of the block."""
        path = f"{self.spot.path}/{node.name}" if self.spot.path else node.name
        spot = replace(self.spot, path=path, place=node.place)
        return replace(self, spot=spot, node=node.name, used=set())

    def knowing(self, refs: Mapping[Path, Ref]) -> Here:
        """The same with further names."""
        return replace(self, refs={**self.refs, **refs})

    def lose(self, what: str, why: str) -> None:
        """Lists what the dialect cannot say here."""
        self.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are said."""
        lose_unsaid(self.ledger, self.spot, item, said, target="shodan")

    def ref(self, value: object) -> Ref:
        """What a value reads, if it is one thing as it is; raises CannotSay."""
        found = parsed(value)
        if found.value is None:
            raise CannotSay("a value that is computed", _ONE)
        return self.ref_of(found.value)

    def ref_of(self, node: tree.Expr) -> Ref:
        """What an expression reads; raises CannotSay."""
        path = path_of(node)
        ref = None if path is None else self.refs.get(path)
        is_outer = ref is not None and ref.at is not None and ref.loop != self.loop
        if path is None or ref is None or is_outer:
            words = printed(node)
            # Functions of dialects are ours, and say nothing to the author.
            shown = "a value that is computed" if "(" in words else f"the value {words[:60]!r}"
            raise CannotSay(shown, _ONE)
        self.used.add(path[0])
        return replace(ref, source=ref.at(self.node, "")) if ref.at is not None else ref

    def _with_default(self, node: tree.Expr) -> str | None:
        """What is read with a word for its absence, where it may be absent."""
        if not isinstance(node, tree.Apply) or node.function.name != "default":
            return None
        path, word = path_of(node.arguments[0]), node.arguments[1]
        ref = None if path is None else self.refs.get(path)
        is_text = isinstance(word, tree.Literal) and isinstance(word.value, str)
        if ref is None or ref.at is None or ref.loop != self.loop:
            return None
        if not ref.absent or not is_text:
            return None
        further = node.arguments[2:]
        if any(not isinstance(one, tree.Literal) or one.value is not False for one in further):
            return None
        assert isinstance(word, tree.Literal)
        return ref.at(self.node, str(word.value))

    def text(self, value: ir.Value) -> str:
        """A text as an expression of the dialect; raises CannotSay."""
        if isinstance(value, ir.Constant):
            return quoted(_literal(str(value.value)))
        found = parsed(value)
        if found.value is not None:
            return self._shown(found.value)
        return " ~ ".join(self._piece(one) for one in found.body)

    def _piece(self, statement: tree.Stmt) -> str:
        if isinstance(statement, tree.Text):
            return quoted(_literal(statement.text))
        if isinstance(statement, tree.Emit):
            return self._shown(statement.value)
        raise CannotSay("a tag of a template", _PLAIN)

    def _shown(self, node: tree.Expr) -> str:
        known = self._with_default(node)
        if known is not None:
            return called("shown", known)
        ref = self.ref_of(node)
        if ref.type not in PRINTED:
            raise CannotSay(
                f"{'.'.join(path_of(node) or ())!r} in a text",
                "null and whole numbers with a fraction are printed otherwise there",
            )
        return called("shown", ref.source)


def _literal(text: str) -> str:
    if _PLACE.search(text) or text.endswith("{"):
        raise CannotSay(f"the text {text[:40]!r}", "braces stand for outputs and inputs there")
    return text


def parsed(value: object) -> tree.Tree:
    """The tree of an expression of plain Jinja; raises CannotSay."""
    if not isinstance(value, ir.Expression) or value.library:
        raise CannotSay("a value that is no single expression", _ONE)
    if value.syntax not in ("jinja", "template", "plain"):
        raise CannotSay(f"an expression of {value.syntax}", "it compares and prints otherwise")
    try:
        return parse(value)
    except LanguageError as fault:
        raise CannotSay(f"the expression {value.source[:60]!r}", fault.message) from None


def path_of(node: tree.Expr) -> Path | None:
    """The names by which an expression reads a value; None if it does more than that."""
    match node:
        case tree.Name():
            return (node.name,)
        case tree.Member():
            before = path_of(node.target)
            return None if before is None else (*before, node.name)
        case tree.Item(target=tree.Name(name="results"), key=tree.Literal(value=str() as name)):
            return (name,)
        case _:
            return None
