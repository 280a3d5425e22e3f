"""XML as a tree of nodes, from and to JSON by the rules of Newtonsoft (`@attribute`, `#text`).

It is read with limits and no document type, and written as .NET writes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from xml.parsers import expat

from whorl.dialects.loom.values.arguments import wrong
from whorl.dialects.loom.values.printing import (
    XML,
    charset_named,
    content_bytes,
    decode_text,
    envelope,
    is_envelope,
    print_text,
)
from whorl.language.faults import EvaluationError, LimitExceeded

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value


_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ATTRIBUTE_ENTITIES = {**_ENTITIES, '"': "&quot;", "\n": "&#xA;", "\r": "&#xD;", "\t": "&#x9;"}


@dataclass(eq=False, slots=True)
class Text:
    """Characters, in a CDATA section or not."""

    text: str
    cdata: bool = False
    parent: Element | None = None


@dataclass(eq=False, slots=True)
class Comment:
    """A comment."""

    text: str
    parent: Element | None = None


@dataclass(eq=False, slots=True)
class Instruction:
    """A processing instruction, the XML declaration among them."""

    name: str
    text: str
    parent: Element | None = None


@dataclass(eq=False, slots=True)
class Element:
    """An element; `closed` means that it is written `<a />`."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    closed: bool = False
    parent: Element | None = None


Node: TypeAlias = Element | Text | Comment | Instruction

# The parent of the root element has this name, which no source can spell.
DOCUMENT = "#document"


def parse_xml(run: Run, source: str) -> Element:
    """Read a document; the result holds its declaration, comments and root element."""
    run.check_text(len(source), "xml")
    run.spend(len(source) >> 4)
    document = _Reader(run, source).read()
    _drop_spaces(document)
    return document


class _Reader:
    """Builds the tree from the events of the parser."""

    def __init__(self, run: Run, source: str) -> None:
        self.run = run
        self.content = source.encode("utf-8", "replace")
        self.document = Element(DOCUMENT)
        self.current = self.document
        self.depth = 0
        self.count = 0
        self.pieces: list[str] = []
        self.cdata = False
        # The declared encoding is set aside: the source is text already.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._refuse_type
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.pieces.append
        self.parser.CommentHandler = lambda text: self._add(Comment(text))
        self.parser.ProcessingInstructionHandler = lambda *given: self._add(Instruction(*given))
        self.parser.StartCdataSectionHandler = lambda: self._set_cdata(True)
        self.parser.EndCdataSectionHandler = lambda: self._set_cdata(False)

    def read(self) -> Element:
        try:
            self.parser.Parse(self.content, True)
        except expat.ExpatError as error:
            raise EvaluationError(f"the value is not valid XML: {error}") from None
        return self.document

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if version != "1.0":
            raise EvaluationError(f"the XML version {version!r} is not supported")
        text = f'version="{version}"'
        if encoding is not None:
            text += f' encoding="{encoding}"'
        if standalone >= 0:
            text += f' standalone="{"yes" if standalone else "no"}"'
        self._add(Instruction("xml", text))

    def _refuse_type(self, *_: object) -> None:
        raise EvaluationError(
            "the XML has a document type, which is not supported",
            help="remove <!DOCTYPE ...>: it can name other files and make text grow without end",
        )

    def _start(self, name: str, attributes: list[str]) -> None:
        self._flush()
        self.depth += 1
        if self.depth > self.run.limits.depth_max:
            raise LimitExceeded(f"XML is nested more than {self.run.limits.depth_max} levels deep")
        element = Element(name, dict(zip(attributes[::2], attributes[1::2], strict=True)))
        self._add(element)
        self.current = element

    def _end(self, name: str) -> None:
        self._flush()
        end = self.parser.CurrentByteIndex
        element = self.current
        # After `<a/>` the parser stands behind the mark, after `<a></a>` before it.
        element.closed = not element.children and self.content[end - 2 : end] == b"/>"
        self.depth -= 1
        assert element.parent is not None
        self.current = element.parent

    def _set_cdata(self, inside: bool) -> None:
        self._flush()
        self.cdata = inside

    def _flush(self) -> None:
        if self.pieces or self.cdata:
            text = "".join(self.pieces)
            # The list itself is the parser's handler, so it is emptied and not replaced.
            self.pieces.clear()
            self._append(Text(text, self.cdata))
            self.cdata = False

    def _add(self, node: Node) -> None:
        if self.pieces:
            self._flush()
        self._append(node)

    def _append(self, node: Node) -> None:
        self.count += 1
        self.run.spend(3)
        if self.count > self.run.items_max:
            raise LimitExceeded(f"XML has more than {self.run.items_max} nodes")
        node.parent = self.current
        self.current.children.append(node)


def write_xml(node: Node) -> str:
    """Write a node as .NET does: `<a />`, attributes in double quotes."""
    out: list[str] = []
    _write(node, out)
    return "".join(out)


def _write(node: Node, out: list[str]) -> None:
    match node:
        case Text():
            out.append(f"<![CDATA[{node.text}]]>" if node.cdata else _escape(node.text, _ENTITIES))
        case Comment():
            out.append(f"<!--{node.text}-->")
        case Instruction():
            out.append(f"<?{node.name} {node.text}?>" if node.text else f"<?{node.name}?>")
        case Element() if node.name == DOCUMENT:
            for child in node.children:
                _write(child, out)
        case Element():
            out.append(f"<{node.name}")
            for name, value in node.attributes.items():
                out.append(f' {name}="{_escape(value, _ATTRIBUTE_ENTITIES)}"')
            if node.closed and not node.children:
                out.append(" />")
                return
            out.append(">")
            for child in node.children:
                _write(child, out)
            out.append(f"</{node.name}>")


def _escape(text: str, entities: dict[str, str]) -> str:
    for character, entity in entities.items():
        text = text.replace(character, entity)
    return text


def _drop_spaces(element: Element) -> None:
    """Drop texts of white space alone, as .NET does when it loads a document."""
    waiting = [element]
    while waiting:
        each = waiting.pop()
        each.children = [
            child
            for child in each.children
            if not isinstance(child, Text) or child.cdata or child.text.strip(" \t\r\n")
        ]
        waiting.extend(child for child in each.children if isinstance(child, Element))


_NAME_START = "A-Z_a-z\u00c0-\u02ff\u0370-\u1fff\u2c00-\ud7ff:"
_NOT_IN_NAME = re.compile(rf"[^{_NAME_START}\-.0-9\u00b7\u0300-\u036f]")


def encode_name(name: str) -> str:
    """Return a name that XML allows: other characters become `_x0020_`."""
    encoded = _NOT_IN_NAME.sub(lambda match: f"_x{ord(match[0]):04X}_", name)
    if encoded and not re.match(f"[{_NAME_START}]", encoded):
        encoded = f"_x{ord(encoded[0]):04X}_{encoded[1:]}"
    return encoded


def decode_name(name: str) -> str:
    """Return the name that `encode_name` was given."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), name)


_PART = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
_DECLARED = re.compile(r"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")


def xml_text(run: Run, envelope: dict[str, Value]) -> str:
    """Return the XML that an envelope wraps, decoded as it declares itself."""
    content = content_bytes(run, envelope)
    text = decode_text(content, "utf-8")
    declared = _DECLARED.match(text)
    if declared is not None:
        encoding = charset_named(declared[1])
        if encoding.startswith(("utf-16", "utf-32")):
            raise EvaluationError(f"the XML says that it is {declared[1]!r}, and it is not")
        text = decode_text(content, encoding)
    return text


def json_of_xml(run: Run, envelope: dict[str, Value]) -> Value:
    """Turn XML into a JSON object."""
    document = parse_xml(run, xml_text(run, envelope))
    result: dict[str, Value] = {}
    _add_children(document, result)
    run.weigh(result)
    return result


def _value(element: Element) -> Value:
    if not element.children and not element.attributes:
        return None if element.closed else ""
    only = element.children[0] if len(element.children) == 1 else None
    if not element.attributes and isinstance(only, Text) and not only.cdata:
        return only.text
    result: dict[str, Value] = {f"@{name}": value for name, value in element.attributes.items()}
    _add_children(element, result)
    return result


def _add_children(element: Element, result: dict[str, Value]) -> None:
    groups: dict[str, list[Node]] = {}
    for child in element.children:
        groups.setdefault(_key(child), []).append(child)
    for key, nodes in groups.items():
        if key == "#comment":
            # Newtonsoft leaves one comment out, and several become an empty array.
            if len(nodes) > 1:
                result[key] = []
            continue
        values = [_value(node) if isinstance(node, Element) else _content(node) for node in nodes]
        result[key] = values[0] if len(values) == 1 else values


def _key(node: Node) -> str:
    if isinstance(node, Element):
        return decode_name(node.name)
    if isinstance(node, Text):
        return "#cdata-section" if node.cdata else "#text"
    return "#comment" if isinstance(node, Comment) else f"?{node.name}"


def _content(node: Node) -> Value:
    assert not isinstance(node, Element)
    if isinstance(node, Instruction) and node.name == "xml":
        return {f"@{name}": double or single for name, double, single in _PART.findall(node.text)}
    return node.text


def xml_of_json(run: Run, value: dict[str, Value]) -> Element:
    """Turn a JSON object with one property into a document."""
    run.weigh(value)
    document = Element("#document")
    _add_properties(run, document, value)
    if sum(isinstance(child, Element) for child in document.children) > 1:
        raise EvaluationError(
            "the JSON has more than one root, and XML has one",
            help="put the properties into an object under one name",
        )
    return document


def _add_properties(run: Run, element: Element, properties: dict[str, Value]) -> None:
    for key, value in properties.items():
        if key.startswith("@") and not isinstance(value, list | dict):
            element.attributes[encode_name(key[1:])] = _scalar(run, value)
        elif key in ("#text", "#cdata-section"):
            for part in value if isinstance(value, list) else [value]:
                _add_text(run, element, part, cdata=key == "#cdata-section")
        elif key == "?xml" and isinstance(value, dict):
            shown = " ".join(f'{name[1:]}="{_scalar(run, part)}"' for name, part in value.items())
            element.children.append(Instruction("xml", shown))
        else:
            for part in value if isinstance(value, list) else [value]:
                element.children.append(_element(run, encode_name(key), part))


def _add_text(run: Run, element: Element, value: Value, *, cdata: bool) -> None:
    text = _scalar(run, value)
    if cdata and "]]>" in text:
        raise EvaluationError("a CDATA section cannot hold ']]>'")
    element.children.append(Text(text, cdata))


def _element(run: Run, name: str, value: Value) -> Element:
    element = Element(name)
    if value is None:
        element.closed = True
    elif isinstance(value, dict):
        _add_properties(run, element, value)
        element.closed = not element.children
    elif isinstance(value, list):
        element.children.extend(_element(run, name, part) for part in value)
    else:
        element.children.append(Text(_scalar(run, value)))
    return element


def _scalar(run: Run, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return print_text(run, value)


def to_xml(run: Run, value: Value) -> Value:
    if isinstance(value, str):
        document = parse_xml(run, value)
    elif is_envelope(value):
        # Azure takes content at its word; whether it is XML shows when it is read.
        return envelope(content_bytes(run, value), XML)
    elif isinstance(value, dict):
        document = xml_of_json(run, value)
    else:
        raise wrong("xml", None, "be a string or an object", value)
    return wrapped(run, document)


def wrapped(run: Run, element: Element) -> dict[str, Value]:
    """Put XML into an envelope."""
    content = write_xml(element).encode("utf-8", "replace")
    run.check_text(len(content) * 4 // 3, "xml")
    return envelope(content, XML)
