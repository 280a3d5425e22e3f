"""Jinja templates and expressions: Jinja2's lexer and parser, never its compiler or runtime.

The lexer gives character offsets in place of line numbers. Nesting is refused here, before Jinja2's
recursive parser is entered: what counts is how many Python frames the parser would stack up.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Token, TokenStream, ignored_tokens
from jinja2.lexer import operators as OPERATORS  # noqa: N812
from jinja2.parser import Parser

from whorl.language import tree
from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.syntaxes.jinja_nodes import Converter
from whorl.language.values import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Parsed = TypeVar("Parsed")

TOKENS_MAX = 20_000
FRAMES_MAX = 520
_FRAMES_PER_BRACKET = 13
_FRAMES_PER_BLOCK = 4

_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<mark>[\\'\"abfnrtv\n]))"
)
# What a mark behind a backslash stands for, where it is not itself.
_MARKS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)) | {"\n": ""}
_OPENING = frozenset(("lparen", "lbracket", "lbrace"))
_CLOSING = frozenset(("rparen", "rbracket", "rbrace"))
_BLOCKS = frozenset(("for", "if", "macro", "call", "filter", "with", "block", "autoescape"))
_OPERANDS = frozenset(("name", "string", "integer", "float"))
_WORD_OPERATORS = frozenset(("and", "or", "not", "in", "is", "if", "else", "elif"))

# What Jinja2 says, and what we say.
_PHRASES = (
    ("Encountered unknown tag", "unknown tag"),
    ("Jinja was looking for", "the parser was looking for"),
    ("You probably made a nesting mistake. Jinja is expecting this tag,", "the tag is known,"),
    ("expected token", "expected"),
)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the Jinja2 environment whose lexer and parser are used; nothing is ever rendered."""
    return Environment(keep_trailing_newline=True)


def _tokens(source: str, *, inside: bool) -> Iterator[Token]:
    """Yield the tokens of a template, or of the inside of `{{ }}`, with offsets as `lineno`."""
    count = 0
    for offset, kind, text in _positions(source, inside=inside):
        if kind in ignored_tokens or kind in ("raw_begin", "raw_end"):
            continue
        count += 1
        if count > TOKENS_MAX:
            raise LimitExceeded(f"source has more than {TOKENS_MAX} tokens", offset)
        value: object = text
        if kind == "name" and not text.isidentifier():
            raise LanguageError(f"{text!r} is not a name", offset)
        if kind == "string":
            value = _ESCAPE.sub(_unescaped, text[1:-1])
        elif kind in ("integer", "float"):
            value = _number(kind, text.replace("_", ""), offset)
        elif kind == "operator":
            kind = OPERATORS[text]
        yield Token(offset, kind, value)  # type: ignore[arg-type]


def _positions(source: str, *, inside: bool) -> Iterator[tuple[int, str, str]]:
    """Pair what Jinja2's lexer yields with where it is.

    The lexer yields every character of the source in order, except white space that a `-` removes
    and the `\\r` of line ends.
    """
    returns = [match.start() for match in re.finditer("\r\n", source)]
    flat = source.replace("\r\n", "\n").replace("\r", "\n")
    removed = [position - index for index, position in enumerate(returns)]
    position = 0
    lexer = environment().lexer
    stream = lexer.tokeniter(flat, None, None, "variable" if inside else None)
    try:
        for _, kind, text in stream:
            while position < len(flat) and not flat.startswith(text, position):
                position += 1
            yield position + bisect_right(removed, position - 1), kind, text
            position += len(text)
    except TemplateSyntaxError as error:
        offset = position + bisect_right(removed, position - 1)
        message = re.sub(r" at \d+$", "", error.message or "syntax error").rstrip(".")
        message = message[:1].lower() + message[1:]
        raise LanguageError(message, min(offset, len(source))) from None


def _number(kind: str, digits: str, offset: int) -> int | float:
    if kind == "float":
        number = float(digits)
        if number == float("inf"):
            raise LimitExceeded("a number in the source is too large", offset)
        return number
    if len(digits) >= 70 or int(digits, 0) > INTEGER_MAX:
        raise LimitExceeded("an integer in the source is beyond 64 bits", offset)
    return int(digits, 0)


def _unescaped(escape: re.Match[str]) -> str:
    if escape["mark"] is not None:
        return _MARKS.get(escape["mark"], escape["mark"])
    if escape["octal"] is not None:
        return chr(int(escape["octal"], 8))
    code = int(escape["hex"] or escape["short"] or escape["long"], 16)
    return "\ufffd" if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def _bounded(tokens: Iterable[Token]) -> Iterator[Token]:
    """Refuse tokens at which Jinja2's parser would have too many frames on the stack."""
    levels, pending, blocks = [0], 0, 0
    begins = sets = False
    for token in tokens:
        if token.type in ("data", "variable_begin", "block_begin"):
            levels, pending, begins = [0], 0, token.type == "block_begin"
        elif begins:
            # `set` opens a block unless it has a value; that is known at the end of the tag.
            begins, sets = False, token.value == "set"
            if token.value in _BLOCKS:
                blocks += 1
            elif token.type == "name" and token.value.startswith("end"):
                blocks = max(0, blocks - 1)
        elif token.type == "assign" and len(levels) == 1:
            sets = False
        elif token.type == "block_end":
            blocks, sets = blocks + sets, False
        elif token.type in _OPENING:
            levels.append(levels[-1] + pending + _FRAMES_PER_BRACKET)
            pending = 0
        elif token.type in _CLOSING:
            levels, pending = levels[:-1] or [0], 0
        elif token.type in _OPERANDS and token.value not in _WORD_OPERATORS:
            pending = 0
        elif token.value == "else":
            levels[-1] += 1
        elif token.type in ("add", "sub") or token.value == "not":
            pending += 1
        if levels[-1] + pending + blocks * _FRAMES_PER_BLOCK > FRAMES_MAX:
            raise LimitExceeded("source is nested too deeply", token.lineno)
        yield token


def read_template(source: str, library: str) -> tree.Tree:
    tokens = list(_bounded(_tokens(source, inside=False)))
    parsed, _ = _parsed(tokens, Parser.subparse)
    converter = Converter(library)
    body = converter.body(parsed)
    is_one = (
        len(body) == 1
        and source.startswith("{{")
        and source.rstrip().endswith("}}")
        and tokens[-1].type == "variable_end"
        and sum(token.type == "variable_begin" for token in tokens) == 1
    )
    value = body[0].value if is_one and isinstance(body[0], tree.Emit) else None
    return tree.Tree("template", library, value, body, frozenset(converter.bound))


def read_expression(source: str, library: str) -> tree.Tree:
    """Read one expression, with or without the braces around it."""
    inner = _without_braces(source)
    tokens = list(_bounded(_tokens(inner, inside=True)))
    if not tokens:
        raise LanguageError("the expression is empty", 0, "write a name, a number or a text")
    node, following = _parsed(tokens, Parser.parse_expression, len(inner))
    if not following.eos:
        token = following.current
        raise LanguageError(
            f"unexpected {token.value!r} after the expression",
            token.lineno,
            "an expression is written without braces; join texts with `~`",
        )
    return tree.Tree("jinja", library, Converter(library).expression(node), (), frozenset())


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


def _parsed(
    tokens: list[Token], parse: Callable[[Parser], Parsed], end: int | None = None
) -> tuple[Parsed, TokenStream]:
    """What Jinja2's parser makes of tokens, and those that are left; `end` is the source's."""
    parser = Parser(environment(), "")
    parser.stream = TokenStream(iter(tokens), None, None)
    try:
        return parse(parser), parser.stream
    except TemplateSyntaxError as error:
        message, offset = error.message or "syntax error", error.lineno
        for theirs, ours in _PHRASES:
            message = message.replace(theirs, ours)
        message = message.rstrip(".").replace(". ", "; ")
        if end is not None and "end of template" in message:
            message, offset = message.replace("end of template", "end of expression"), end
        raise LanguageError(message[:1].lower() + message[1:], offset) from None
    except RecursionError:
        raise LimitExceeded("source is nested too deeply") from None
