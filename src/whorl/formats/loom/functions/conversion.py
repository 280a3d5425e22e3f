"""Functions on numbers, from one type to another, and on XML."""

from __future__ import annotations

import json
import math
import operator
import re
from dataclasses import field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from xml.parsers import expat
from xml.sax.saxutils import escape, unescape

from whorl.formats.loom.values import arguments, formats
from whorl.formats.loom.values.arguments import Number, is_xml, not_valid, number, text, wrong
from whorl.formats.loom.values.formats import DECIMAL
from whorl.language.chunked_json import refuse_constant
from whorl.language.core.text import finite, without_surrogates
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import INTEGER_MAX
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from whorl.language.calls import Run
    from whorl.language.values import Value


# XML as a tree of nodes, from and to JSON by the rules of Newtonsoft, and XPath over it.
#
# It is read with limits and no document type, and written as .NET writes it. The parser is
# Python's: lxml says neither what was a CDATA section nor whether an element was closed at once.

# So many bytes are read at once: one call for all would hold up other threads.
_AT_ONCE = 65_536
# The parent of the root element has this name, which no source can spell.
DOCUMENT = "#document"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_TEXT = str.maketrans(_ENTITIES)
_IN_ATTRIBUTE = str.maketrans(
    _ENTITIES | {'"': "&quot;", "\n": "&#xA;", "\r": "&#xD;", "\t": "&#x9;"}
)


@dataclass(eq=False, slots=True)
class Node:
    """A node of a document; `closed` means that an element is written `<a />`.

    The XML declaration is an instruction.
    """

    kind: Literal["element", "text", "cdata", "comment", "instruction"]
    name: str = ""
    text: str = ""
    parent: Node | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    closed: bool = False


class XmlReader:
    """Builds the tree of a document from the events of the parser."""

    def __init__(self, run: Run, source: str) -> None:
        run.check_text(len(source), "xml")
        run.spend(len(source) >> 4)
        self.run = run
        self.content = source.encode("utf-8", "replace")
        self.current = Node("element", DOCUMENT)
        self.depth = self.count = 0
        self.pieces: list[str] = []
        self.is_cdata = False
        # The declared encoding is set aside: the source is text already.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._refuse_type
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.pieces.append
        self.parser.CommentHandler = lambda text: self._add(Node("comment", "", text))
        self.parser.ProcessingInstructionHandler = lambda name, text: self._add(
            Node("instruction", name, text)
        )
        self.parser.StartCdataSectionHandler = lambda: self._end_text(is_cdata=True)
        self.parser.EndCdataSectionHandler = self._end_text

    def read(self) -> Node:
        """Returns a node with the declaration, the comments and the root element."""
        # The second parser checks the prefixes, once the first one has refused what is dangerous.
        parsers = (self.parser, expat.ParserCreate("utf-8", " "))
        try:
            for at in range(0, len(self.content) + _AT_ONCE, _AT_ONCE):
                part = self.content[at : at + _AT_ONCE]
                for parser in parsers:
                    parser.Parse(part, not part)
        except expat.ExpatError as error:
            raise EvaluationError(f"the value is not valid XML: {error}") from None
        return self.current

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if version != "1.0":
            raise EvaluationError(f"the XML version {version!r} is not supported")
        alone = {0: "no", 1: "yes"}.get(standalone)
        parts = {"version": version, "encoding": encoding, "standalone": alone}
        text = " ".join(f'{name}="{part}"' for name, part in parts.items() if part is not None)
        self._add(Node("instruction", "xml", text))

    def _refuse_type(self, *_: object) -> None:
        raise EvaluationError(
            "the XML has a document type, which is not supported",
            help="remove <!DOCTYPE ...>: it can name other files and make text grow without end",
        )

    def _start(self, name: str, attributes: list[str]) -> None:
        self.depth += 1
        if self.depth > self.run.limits.depth_max:
            raise LimitExceeded(f"XML is nested more than {self.run.limits.depth_max} levels deep")
        element = Node("element", name)
        element.attributes = dict(zip(attributes[::2], attributes[1::2], strict=True))
        self._add(element)
        self.current = element

    def _end(self, name: str) -> None:
        self._end_text()
        end = self.parser.CurrentByteIndex
        element = self.current
        # After `<a/>` the parser stands behind the mark, after `<a></a>` before it.
        element.closed = not element.children and self.content[end - 2 : end] == b"/>"
        self.depth -= 1
        assert element.parent is not None
        self.current = element.parent

    def _end_text(self, *, is_cdata: bool = False) -> None:
        """Adds the text that was collected so far and notes whether a CDATA section follows."""
        if self.pieces or self.is_cdata:
            text = "".join(self.pieces)
            # The list itself is the parser's handler, so it is emptied and not replaced.
            self.pieces.clear()
            self._append(Node("cdata" if self.is_cdata else "text", "", text))
        self.is_cdata = is_cdata

    def _add(self, node: Node) -> None:
        self._end_text()
        self._append(node)

    def _append(self, node: Node) -> None:
        self.count += 1
        self.run.spend(3)
        if self.count > self.run.items_max:
            raise LimitExceeded(f"XML has more than {self.run.items_max} nodes")
        # Texts of white space alone are dropped, as .NET does when it loads a document.
        if node.kind != "text" or node.text.strip(" \t\r\n"):
            node.parent = self.current
            self.current.children.append(node)


def write_xml(node: Node) -> str:
    """Write a node as .NET does: `<a />`, attributes in double quotes."""
    match node.kind:
        case "text":
            return node.text.translate(_IN_TEXT)
        case "cdata":
            return f"<![CDATA[{node.text}]]>"
        case "comment":
            return f"<!--{node.text}-->"
        case "instruction":
            return f"<?{node.name} {node.text}?>" if node.text else f"<?{node.name}?>"
    inner = "".join(map(write_xml, node.children))
    if node.name == DOCUMENT:
        return inner
    start = f"<{node.name}"
    for name, value in node.attributes.items():
        start += f' {name}="{value.translate(_IN_ATTRIBUTE)}"'
    return f"{start} />" if node.closed else f"{start}>{inner}</{node.name}>"


_PART = re.compile(r'(\w+)="([^"]*)"')
_DECLARED = re.compile(r"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")


def xml_text(run: Run, envelope: dict[str, Value]) -> str:
    """Return the XML that an envelope wraps, decoded as it declares itself."""
    content = arguments.content_bytes(run, envelope)
    text = arguments.decode_text(content, "utf-8")
    declared = _DECLARED.match(text)
    if declared is not None:
        encoding = arguments.charset_named(declared[1])
        if encoding.startswith(("utf-16", "utf-32")):
            raise EvaluationError(f"the XML says that it is {declared[1]!r}, and it is not")
        text = arguments.decode_text(content, encoding)
    return text


def _add_children(element: Node, result: dict[str, Value]) -> None:
    kinds = {"text": "#text", "cdata": "#cdata-section", "comment": "#comment"}
    groups: dict[str, list[Node]] = {}
    for child in element.children:
        named = arguments.decode_name(child.name) if child.kind == "element" else f"?{child.name}"
        groups.setdefault(kinds.get(child.kind, named), []).append(child)
    for key, nodes in groups.items():
        if key != "#comment":
            result[key] = _value(nodes[0]) if len(nodes) == 1 else [*map(_value, nodes)]
        elif len(nodes) > 1:
            # Newtonsoft leaves one comment out, and several become an empty array.
            result[key] = []


def _value(node: Node) -> Value:
    if node.kind == "instruction" and node.name == "xml":
        return {f"@{name}": value for name, value in _PART.findall(node.text)}
    if node.kind != "element":
        return node.text
    if not node.attributes and not node.children:
        return None if node.closed else ""
    if not node.attributes and [child.kind for child in node.children] == ["text"]:
        return node.children[0].text
    result: dict[str, Value] = {f"@{name}": value for name, value in node.attributes.items()}
    _add_children(node, result)
    return result


def _add_properties(run: Run, element: Node, properties: dict[str, Value]) -> None:
    for key, value in properties.items():
        run.spend(8 + (len(key) >> 1))
        values = value if isinstance(value, list) else [value]
        if key.startswith("@") and not isinstance(value, list | dict):
            element.attributes[arguments.encode_name(key[1:])] = _scalar(run, value)
        elif key in ("#text", "#cdata-section"):
            for part in values:
                text = _scalar(run, part)
                if key != "#text" and "]]>" in text:
                    raise EvaluationError("a CDATA section cannot hold ']]>'")
                element.children.append(Node("text" if key == "#text" else "cdata", "", text))
        elif key == "?xml" and isinstance(value, dict):
            shown = " ".join(f'{name[1:]}="{_scalar(run, part)}"' for name, part in value.items())
            element.children.append(Node("instruction", "xml", shown))
        else:
            element.children += [_element(run, key, part) for part in values]


def _element(run: Run, key: str, value: Value) -> Node:
    run.spend(4)
    element = Node("element", arguments.encode_name(key), closed=value is None)
    if isinstance(value, dict):
        _add_properties(run, element, value)
        element.closed = not element.children
    elif isinstance(value, list):
        element.children = [_element(run, key, part) for part in value]
    elif value is not None:
        element.children = [Node("text", "", _scalar(run, value))]
    return element


def _scalar(run: Run, value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else arguments.print_text(run, value)


def to_xml(run: Run, value: Value) -> Value:
    """Turn a text, or a JSON object with one property, into XML in an envelope."""
    if arguments.is_envelope(value):
        # Azure takes content at its word; whether it is XML shows when it is read.
        return arguments.envelope(arguments.content_bytes(run, value), arguments.XML)
    if isinstance(value, str):
        return wrapped(run, XmlReader(run, value).read())
    if not isinstance(value, dict):
        raise wrong("xml", None, "be a string or an object", value)
    run.weigh(value)
    document = Node("element", DOCUMENT)
    _add_properties(run, document, value)
    if sum(child.kind == "element" for child in document.children) > 1:
        raise EvaluationError(
            "the JSON has more than one root, and XML has one",
            help="put the properties into an object under one name",
        )
    return wrapped(run, document)


def wrapped(run: Run, element: Node) -> dict[str, Value]:
    content = write_xml(element).encode("utf-8", "replace")
    run.check_text(len(content) * 4 // 3, "xml")
    return arguments.envelope(content, arguments.XML)


# XPath is evaluated by lxml. Its work is reckoned before, since nothing can interrupt it.
_SOURCE_MAX = 4_096
_DEPTH_MAX = 32
# A step pays for 256 pieces of work: 200,000 steps are about a second.
_PIECES = 8
# They may compare each character of a text with each of another one.
_SEARCHES = frozenset(("contains", "substring-before", "substring-after", "translate"))
_FUNCTIONS = _SEARCHES | {
    *("boolean", "ceiling", "concat", "count", "false", "floor", "last", "local-name", "name"),
    *("namespace-uri", "normalize-space", "not", "number", "position", "round", "starts-with"),
    *("string", "string-length", "substring", "sum", "true"),
}
_TOKEN = re.compile(
    r"""(?P<literal>"[^"]*"|'[^']*')|(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
      |(?P<axis>[^\W\d][\w.-]*(?=\s*::))
      |(?P<test>(?:node|text|comment|processing-instruction)\s*\(\s*(?:"[^"]*"|'[^']*')?\s*\))
      |(?P<name>[^\W\d][\w.-]*(?::(?:[^\W\d][\w.-]*|\*))?)(?P<call>(?=\s*\())?
      |(?P<mark>//|::|!=|<=|>=|\.\.|\S)""",
    re.VERBOSE,
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
# The tokens before an operand, and those before the name of a node.
_BEGINNINGS = frozenset(("(", "[", ",", "|", "operator", "comparison"))
_BEFORE_NAMES = _BEGINNINGS | {"/", "//", "::", "@"}
_NAMED_OPERATORS = frozenset(("*", "and", "or", "div", "mod"))
_NARROW_AXES = frozenset(("child", "self", "attribute"))


def select(run: Run, value: Value, path: Value) -> Value:
    """Returns the result of an XPath: elements in envelopes, texts as strings, or one value."""
    if not is_xml(value):
        raise wrong("xpath", 0, "be an XML object", value)
    expression = text("xpath", 1, path)
    document = XmlReader(run, xml_text(run, value)).read()
    if expression.strip() in ("/", "."):
        return [wrapped(run, document)]
    outcome = _evaluate(run, expression, document)
    if isinstance(outcome, str):
        run.check_text(len(outcome), "xpath")
    if not isinstance(outcome, list):
        return outcome
    run.check_items(len(outcome), "xpath")
    return [wrapped(run, each) if isinstance(each, Node) else each for each in outcome]


def _evaluate(run: Run, expression: str, document: Node) -> list[Node | str] | str | float | bool:
    try:
        from lxml import etree
    except ImportError:
        raise EvaluationError(
            "xpath needs the extra `xslt`, which is not installed",
            help="install it with `pip install 'whorl[xslt]'`",
        ) from None
    source, inside = write_xml(document), [*_walked(document)]
    elements = [node for node, depth in inside if depth and node.kind == "element"]
    nodes = sum(1 + len(node.attributes) for node, _ in inside)
    depth = max(depth for _, depth in inside) or 1
    admitted = _admitted(run, expression, (nodes, depth, len(source)))
    written = (pair for element in elements for pair in element.attributes.items())
    declared = {name[6:]: uri for name, uri in written if name.startswith("xmlns:")}
    # Documents with a type, which could name files and addresses, were refused before.
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, strip_cdata=False)
    try:
        root = etree.fromstring(source.encode("utf-8", "replace"), parser)
        own = dict(zip(root.iter("*"), elements, strict=True))
        found = root.getroottree().xpath(admitted, namespaces=declared, smart_strings=False)
    except etree.XMLSyntaxError as error:
        raise EvaluationError(f"the value is not valid XML: {error}") from None
    except (etree.XPathError, ValueError) as error:
        reason = f"the XPath expression {expression[:60]!r} is not valid: {error}"
        raise EvaluationError(reason) from None
    if isinstance(found, str | float | bool):
        return found
    return [each if isinstance(each, str) else own.get(each) or each.text or "" for each in found]


def _walked(node: Node, depth: int = 0) -> Iterator[tuple[Node, int]]:
    """Yields a node and all nodes in it, in their order, each with its depth."""
    yield node, depth
    for child in node.children:
        yield from _walked(child, depth + 1)


def _admitted(run: Run, expression: str, document: tuple[int, int, int]) -> str:
    """Pays for the most that an expression may visit; returns it with paths from the document.

    Each step with a wide axis may reach every node from every other node. The content of brackets
    runs for each node before them.
    """
    nodes, depth, length = document
    if len(expression) > _SOURCE_MAX:
        raise LimitExceeded(f"XPath expression is longer than {_SOURCE_MAX} characters")
    # Of nodes that lie in each other all descendants are found, and joined pair by pair.
    spread = depth * (1 + (nodes >> 6))
    visits = pairs = needle = count = 1
    nested, brackets, before, rewritten, done = 0, 0, "(", "", 0
    for token in _TOKEN.finditer(expression):
        kind, word = str(token.lastgroup), token["name"] or token[0]
        count += 1
        if before not in _BEFORE_NAMES and word in _NAMED_OPERATORS:
            before = "operator"
            continue
        if (kind == "call" and word not in _FUNCTIONS) or (kind, word) == ("axis", "namespace"):
            names = ", ".join(sorted(_FUNCTIONS))
            raise EvaluationError(f"XPath has no function or axis {word!r}", help=f"it has {names}")
        brackets += (word == "[") - (word == "]")
        nested += (word in ("(", "[")) - (word in (")", "]"))
        if nested > _DEPTH_MAX:
            raise LimitExceeded(f"XPath is nested more than {_DEPTH_MAX} levels deep")
        if kind == "literal":
            needle = max(needle, len(word))
        elif before == "," and kind != "number":
            # It may be any text of the document.
            needle = length
        begins = before in _BEGINNINGS
        is_value = kind in ("literal", "number", "call") or word == "-"
        if before == "|" or (before == "comparison" and not is_value):
            # Each node on the left meets each one on the right.
            pairs = nodes
        is_path = kind in ("axis", "test", "name") or word in ("*", "@", ".", "..")
        if begins and is_path and not brackets:
            # lxml would begin at the root element.
            rewritten += expression[done : token.start()] + "/"
            done = token.start()
        is_absolute = begins and bool(brackets) and word in ("/", "//")
        if (word == "//" and not begins) or (kind == "axis" and word.startswith("desc")):
            visits *= spread
        elif is_absolute or word == ".." or (kind == "axis" and word not in _NARROW_AXES):
            visits *= nodes
        before = word if kind == "mark" else kind
        if word in _COMPARISONS or word in ("+", "-"):
            before = "comparison" if word in _COMPARISONS else "operator"
    # An inner text counts again for each level, and texts that are joined grow with each part.
    texts = (length * depth >> 5) + 1
    texts *= min(needle, length) if any(name in expression for name in _SEARCHES) else 1
    count *= count if "concat" in expression else 1
    run.spend(visits * pairs * count * (nodes + texts) >> _PIECES)
    return rewritten + expression[done:]


Operations: TypeAlias = "tuple[Callable[..., int], Callable[..., float], Callable[..., Decimal]]"
Made = TypeVar("Made")

CONVERSION = arguments.Family("conversion")
MATH = arguments.Family("math")
XML_FUNCTIONS = arguments.Family("xml")

_LOCALE = "en-US"

CONVERSION("string(value)", "the value as text; objects and arrays as JSON")(arguments.print_text)


def _parsed(function: str, value: Value, number: Made | None) -> Made:
    """Returns the number that a value represents; raises if it represents none."""
    if number is None:
        raise not_valid(function, f"Could not parse {str(value)[:40]} as {function}")
    return number


def _read_whole(text: str) -> float | None:
    return formats.read_float(text, formats.culture_of(_LOCALE), trailing=False)


@CONVERSION("int(value:numeric)", "a text or number as a whole number")
def _to_int(run: Run, value: str | Number) -> int:
    if isinstance(value, int):
        return value
    # Logic Apps reads a float first, so digits beyond its precision are lost.
    number = _read_whole(value) if isinstance(value, str) else float(value)
    if number is not None and math.isnan(number):
        return -INTEGER_MAX
    fits = number is not None and number.is_integer() and -INTEGER_MAX <= number < INTEGER_MAX
    return int(_parsed("int", value, number if fits else None))


@CONVERSION("float(value:numeric, locale?)", "a text as a number")
def _to_float(run: Run, value: str | Number, locale: Value) -> float:
    if not isinstance(value, str):
        return float(value)
    culture = formats.culture_of(_LOCALE if locale is None else arguments.text("float", 1, locale))
    return _parsed("float", value, formats.read_float(value, culture))


@CONVERSION("decimal(value:numeric)", "a number that keeps its decimal places")
def _to_decimal(run: Run, value: str | Number) -> Decimal:
    if not isinstance(value, str):
        return formats.to_decimal(value)
    return _parsed("decimal", value, formats.read_decimal(value, formats.culture_of(_LOCALE)))


@CONVERSION("bool(value)", "true or false, from a number or a text")
def _to_bool(run: Run, value: Value) -> bool:
    if isinstance(value, bool) or arguments.is_number(value):
        return value != 0
    word = value.strip().lower() if isinstance(value, str) else None
    if word in ("true", "false"):
        return word == "true"
    raise wrong("bool", None, "be a boolean, a number, 'true' or 'false'", value)


CONVERSION("isInt(text:str)", "whether a text is a whole number")(
    lambda run, text: (number := _read_whole(text)) is not None and number.is_integer()
)


@CONVERSION("isFloat(text, locale?:str)", "whether a text is a number")
def _is_float(run: Run, value: Value, locale: str | None) -> bool:
    culture = formats.culture_of(locale or "")
    return formats.read_float(arguments.text("isFloat", 0, value), culture) is not None


@CONVERSION("json(value)", "the value in a JSON text or in XML")
def _from_json(run: Run, value: Value) -> Value:
    if value is None:
        return {}
    if arguments.is_envelope(value):
        if arguments.is_xml(value):
            result: dict[str, Value] = {}
            _add_children(XmlReader(run, xml_text(run, value)).read(), result)
            run.weigh(result)
            return result
        value = arguments.content_text(run, value)
    if not isinstance(value, str):
        raise wrong("json", None, "be a string or an XML", value)
    run.check_text(len(value), "json")
    run.spend(len(value) >> 4)

    def integer(digits: str) -> int:
        if len(digits) > 20 or not -INTEGER_MAX <= (number := int(digits)) < INTEGER_MAX:
            raise ValueError("an integer is beyond 64 bits")
        return number

    try:
        parsed: Value = json.loads(
            value,
            object_pairs_hook=_object,
            parse_constant=refuse_constant,
            parse_int=integer,
            parse_float=finite,
        )
    except RecursionError:
        raise LimitExceeded("json was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise not_valid("json", f"the provided value cannot be parsed as JSON: {error}") from None
    run.weigh(parsed)
    return without_surrogates(parsed) if "\\u" in value else parsed


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """Returns an object; if a key occurs twice, its last value counts, at the first place."""
    properties: dict[str, Value] = {}
    for key, value in pairs:
        properties.pop(key, None)
        properties[key] = value
    return properties


CONVERSION("array(value)", "an array with the value as its only item")(lambda run, value: [value])


@CONVERSION("createArray(value, ...)", "an array of all the values")
def _create_array(run: Run, values: list[Value]) -> list[Value]:
    run.check_items(len(values), "createArray")
    return values


def _calculate(function: str, kinds: Operations, run: Run, left: Value, right: Value) -> Value:
    """Calculate by the wider kind of two numbers: decimal, float or integer."""
    if function in ("div", "mod") and number(function, 1, right) == 0:
        raise not_valid(function, "attempt to divide an integer or decimal by zero")
    first, second = number(function, 0, left), number(function, 1, right)
    integers, floats, decimals = kinds
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        return formats.to_decimal(decimals(formats.to_decimal(first), formats.to_decimal(second)))
    if isinstance(first, int) and isinstance(second, int):
        return arguments.within_integers(function, integers(first, second))
    return floats(float(first), float(second))


def _quotient(left: int, right: int) -> int:
    """Divides and drops the fraction, as .NET does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


# By function: on integers, on floats and on decimals. A product of floats that is too large is
# infinite in Python as in .NET.
_ARITHMETIC: tuple[tuple[str, Operations, str], ...] = (
    ("add", (operator.add, operator.add, DECIMAL.add), "the sum of two numbers"),
    ("sub", (operator.sub, operator.sub, DECIMAL.subtract), "the first number minus the second"),
    ("mul", (operator.mul, operator.mul, DECIMAL.multiply), "the product of two numbers"),
    (
        "div",
        (_quotient, operator.truediv, DECIMAL.divide),
        "the quotient; for two integers without the fraction",
    ),
    (
        "mod",
        (
            lambda left, right: left - right * _quotient(left, right),
            lambda left, right: math.fmod(left, right) if math.isfinite(left) else math.nan,
            DECIMAL.remainder,
        ),
        "the remainder of a division; it has the sign of the dividend",
    ),
)
for _name, _kinds, _doc in _ARITHMETIC:
    MATH(f"{_name}(left, right)", _doc, _kinds)(_calculate)


@MATH("max(value, ...)", "the highest of numbers or an array", max)
@MATH("min(value, ...)", "the lowest of numbers or an array", min)
def _extreme(function: str, choose: Callable[..., Number], run: Run, values: list[Value]) -> Number:
    items = values
    if len(values) == 1 and isinstance(values[0], list):
        items = values[0]
        run.spend(len(items))
    if not items:
        raise not_valid(function, "the array is empty")
    given = [number(function, place, item) for place, item in enumerate(items)]
    best = choose(given)
    if any(isinstance(each, Decimal) for each in given):
        return formats.to_decimal(best)
    return float(best) if any(isinstance(each, float) for each in given) else best


@MATH(
    "rand(min:int, max:int)",
    "an integer from min to below max, drawn from the seed of the run",
    reads="$seed",
)
def _random_integer(run: Run, first: int, beyond: int) -> int:
    if first >= beyond:
        raise not_valid("rand", "the minimum has to be less than the maximum")
    return first + int.from_bytes(run.draw()) % (beyond - first)


@MATH("range(start:int, count:int)", "an array of consecutive integers")
def _range(run: Run, first: int, length: int) -> list[int]:
    if length < 0:
        raise not_valid("range", "the count cannot be below 0")
    run.check_items(length, "range")
    arguments.within_integers("range", first + length)
    return list(range(first, first + length))


@MATH(
    "formatNumber(number, format, locale?:str)",
    "a number written by a .NET format such as '#,##0.00' or 'C2'",
)
def _format_number(run: Run, value: Value, form: Value, locale: str | None) -> str:
    culture = formats.culture_of(_LOCALE if locale is None else locale)
    subject = number("formatNumber", 0, value)
    try:
        return formats.format_number(run, subject, arguments.text("formatNumber", 1, form), culture)
    except InvalidOperation:
        raise not_valid("formatNumber", "the number is too large for this format") from None


_ESCAPES = {'"': "&quot;", "'": "&apos;"}


XML_FUNCTIONS("xml(value)", "a text or a JSON object as XML")(to_xml)
XML_FUNCTIONS("xpath(xml, xpath)", "what an XPath expression finds in XML, by the extra `xslt`")(
    select
)


@XML_FUNCTIONS("encodeXmlValue(text:str)", "escaped for use in XML")
def _encode_value(run: Run, text: str) -> str:
    run.check_text(len(text) * 6, "encodeXmlValue")
    return escape(text, _ESCAPES)


XML_FUNCTIONS("decodeXmlValue(text:str)", "without the escapes of XML")(
    lambda run, text: unescape(text, {entity: mark for mark, entity in _ESCAPES.items()})
)


@XML_FUNCTIONS("encodeXmlName(text:str)", "a text encoded as a valid XML name")
def _encode_name(run: Run, text: str) -> str:
    run.check_text(len(text) * 7, "encodeXmlName")
    return arguments.encode_name(text)


XML_FUNCTIONS("decodeXmlName(text:str)", "the text of an encoded XML name")(
    lambda run, text: arguments.decode_name(text)
)
