"""XML and JSON into each other, by the rules of Newtonsoft: `@attribute`, `#text`, `?xml`.

`to_xml` and `select` are what the functions `xml` and `xpath` do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.loom.functions.xml.nodes import (
    Comment,
    Element,
    Instruction,
    Node,
    Text,
    decode_name,
    drop_spaces,
    encode_name,
    parse_xml,
    write_xml,
)
from whorl.dialects.loom.values.arguments import text, wrong
from whorl.dialects.loom.values.contents import (
    XML,
    charset_named,
    content_bytes,
    decode_text,
    envelope,
    is_envelope,
    is_xml,
)
from whorl.dialects.loom.values.printing import print_text
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value


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
    drop_spaces(document)
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
    match node:
        case Element():
            return decode_name(node.name)
        case Text():
            return "#cdata-section" if node.cdata else "#text"
        case Comment():
            return "#comment"
        case Instruction():
            return f"?{node.name}"


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
        drop_spaces(document)
    elif isinstance(value, dict) and is_envelope(value):
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


def select(run: Run, value: Value, path: Value) -> Value:
    if not isinstance(value, dict) or not is_xml(value):
        raise wrong("xpath", 0, "be an XML object", value)
    document = parse_xml(run, xml_text(run, value))
    drop_spaces(document)
    from whorl.dialects.loom.functions.xml.xpath import find_all

    found = find_all(run, document, text("xpath", 1, path))
    if not isinstance(found, list):
        return found
    return [wrapped(run, node) if isinstance(node, Element) else node for node in found]
