"""XML made from texts and objects, and searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.functions.logic.arguments import text, wrong
from whorl.language.functions.logic.envelopes import (
    XML,
    content_bytes,
    envelope,
    is_envelope,
    is_xml,
)
from whorl.language.functions.logic.xml.nodes import Element, drop_spaces, parse_xml, write_xml
from whorl.language.functions.logic.xml.to_json import xml_of_json, xml_text
from whorl.language.functions.logic.xml.xpath import find_all

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value


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
    found = find_all(run, document, text("xpath", 1, path))
    if not isinstance(found, list):
        return found
    return [wrapped(run, node) if isinstance(node, Element) else node for node in found]
