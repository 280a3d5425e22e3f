"""Jinja templates and expressions: Jinja2's parser, never its compiler or runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from whorl.language import tree
from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.syntaxes.jinja_statements import StatementConverter
from whorl.language.syntaxes.jinja_tokens import environment, tokenize

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.lexer import Token


def read_template(source: str, library: str) -> tree.Tree:
    """Read a text template."""
    tokens = tokenize(source, inside=False)
    body = _parse_template(tokens)
    converter = StatementConverter(library)
    statements = converter.body(body)
    value = None
    if _is_one_expression(source, tokens) and len(statements) == 1:
        only = statements[0]
        value = only.value if isinstance(only, tree.Emit) else None
    return tree.Tree("template", library, value, statements, frozenset(converter.bound))


def read_expression(source: str, library: str) -> tree.Tree:
    """Read one expression, with or without the braces around it."""
    inner = _without_braces(source)
    node = _parse_expression(tokenize(inner, inside=True), len(inner))
    value = StatementConverter(library).expression(node)
    return tree.Tree("jinja", library, value, (), frozenset())


def _without_braces(source: str) -> str:
    """Blank out the braces around an expression; what is inside keeps its offset."""
    stripped = source.strip()
    if not (stripped.startswith("{{") and stripped.endswith("}}") and len(stripped) > 4):
        return source
    begin = source.index("{{") + 2
    end = source.rindex("}}")
    begin += source[begin] == "-"
    end -= source[end - 1] == "-"
    return " " * begin + source[begin:end]


def _is_one_expression(source: str, tokens: list[Token]) -> bool:
    return (
        len(tokens) > 2
        and source.startswith("{{")
        and tokens[-1].type == "variable_end"
        and source.rstrip().endswith("}}")
        and sum(token.type == "variable_begin" for token in tokens) == 1
    )


def _parse_template(tokens: list[Token]) -> list[nodes.Node]:
    parser = _parser(tokens)
    try:
        return parser.subparse()
    except TemplateSyntaxError as error:
        raise _syntax_error(error) from None
    except RecursionError:
        raise LimitExceeded("source is nested too deeply") from None


def _parse_expression(tokens: list[Token], end: int) -> nodes.Expr:
    if not tokens:
        raise LanguageError("the expression is empty", 0, "write a name, a number or a text")
    parser = _parser(tokens)
    try:
        node = parser.parse_expression()
    except TemplateSyntaxError as error:
        raise _syntax_error(error, end) from None
    except RecursionError:
        raise LimitExceeded("source is nested too deeply") from None
    if not parser.stream.eos:
        token = parser.stream.current
        raise LanguageError(
            f"unexpected {token.value!r} after the expression",
            token.lineno,
            "an expression is written without braces; join texts with `~`",
        )
    return node


def _parser(tokens: list[Token]) -> Parser:
    parser = Parser(environment(), "")
    parser.stream = TokenStream(iter(tokens), None, None)
    return parser


_PHRASES = (
    ("Encountered unknown tag", "unknown tag"),
    ("Jinja was looking for", "the parser was looking for"),
    ("You probably made a nesting mistake. Jinja is expecting this tag,", "the tag is known,"),
    ("expected token", "expected"),
)


def _syntax_error(error: TemplateSyntaxError, end: int | None = None) -> LanguageError:
    message = error.message or "syntax error"
    for theirs, ours in _PHRASES:
        message = message.replace(theirs, ours)
    message = message.rstrip(".").replace(". ", "; ")
    offset = error.lineno
    if end is not None and "end of template" in message:
        message, offset = message.replace("end of template", "end of expression"), end
    return LanguageError(message[:1].lower() + message[1:], offset)
