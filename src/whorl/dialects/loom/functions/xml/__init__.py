"""Functions on XML, which is wrapped in an object with the content type `application/xml`.

The parser and XPath are imported when the first expression needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import Family, text

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"))


def make_xml(run: Run, value: Value) -> Value:
    from whorl.dialects.loom.functions.xml.to_json import to_xml

    return to_xml(run, value)


def find(run: Run, value: Value, path: Value) -> Value:
    from whorl.dialects.loom.functions.xml.to_json import select

    return select(run, value, path)


def encode_value(run: Run, value: Value) -> Value:
    written = text("encodeXmlValue", None, value)
    run.check_text(len(written) * 6, "encodeXmlValue")
    for character, entity in _ESCAPES:
        written = written.replace(character, entity)
    return written


def decode_value(run: Run, value: Value) -> Value:
    written = text("decodeXmlValue", None, value)
    for character, entity in reversed(_ESCAPES):
        written = written.replace(entity, character)
    return written


def encode_element_name(run: Run, value: Value) -> Value:
    written = text("encodeXmlName", None, value)
    run.check_text(len(written) * 7, "encodeXmlName")
    from whorl.dialects.loom.functions.xml.nodes import encode_name

    return encode_name(written)


def decode_element_name(run: Run, value: Value) -> Value:
    from whorl.dialects.loom.functions.xml.nodes import decode_name

    return decode_name(text("decodeXmlName", None, value))


_xml = Family("xml")

XML_FUNCTIONS: tuple[FunctionEntry, ...] = (
    _xml("xml(value)", make_xml, "the XML that a text says or a JSON object means"),
    _xml("xpath(xml, xpath)", find, "what an XPath expression finds in XML"),
    _xml("encodeXmlValue(text)", encode_value, "escaped for use in XML"),
    _xml("decodeXmlValue(text)", decode_value, "without the escapes of XML"),
    _xml("encodeXmlName(text)", encode_element_name, "a name that XML allows"),
    _xml("decodeXmlName(text)", decode_element_name, "the name that was made fit for XML"),
)
