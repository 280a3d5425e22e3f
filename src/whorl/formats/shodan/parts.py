"""The parts of a file: the fields of each, and the ports that nodes and interfaces declare."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import (
    check_spelling,
    objects_of,
    span_of,
    text_of,
    words,
)
from whorl.formats.shodan.functions import TYPES
from whorl.ir.checks.scopes import suggest
from whorl.language import Json, LanguageError
from whorl.language.patterns import pattern
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.reading.context import Findings
    from whorl.errors import Span


# The fields of the other objects of a file.
PARTS = {
    "file": words("version name metadata interface nodes edges components"),
    "metadata": words("name description rootDirectory"),
    "interface": words("inputs outputs"),
    "node": words("id type data parentId"),
    "edge": words("id type source target sourceHandle targetHandle data"),
    "port": words(
        "name type label required default description extract schema array arrayParent arrayIndex"
    ),
    "extract": words("type pattern"),
    "condition": words("output operator value"),
    "input mapping": words("source target iterations"),
    "output mapping": words("source target take"),
    "end of a mapping": words("type name node input output"),
    "dock slot": words("name type label valueType"),
    "forEach": words("items item parallel"),
}
# What editors write for themselves: how nodes and edges look, and how they were run there.
DRAWN = frozenset(
    words(
        "$schema viewport description label icon color collapsed expanded "
        "position positionAbsolute origin style className width height initialWidth initialHeight "
        "measured handles selected dragging resizing extent expandParent hidden zIndex draggable "
        "selectable connectable deletable focusable reconnectable updatable dragHandle ariaLabel "
        "sourcePosition targetPosition animated markerStart markerEnd interactionWidth pathOptions "
        "labelStyle labelShowBg labelBgStyle labelBgPadding labelBgBorderRadius "
        "executionStatus executionOutput executionError"
    )
)
_INDEXED = re.compile(r"(.+)\[(\d{1,4})\]")
_EXTRACTS = ("full", "regex", "json_path")


def flag_of(item: Mapping, name: str) -> bool:
    return text_of(item.get(name)).lower() == "true"


def object_of(item: Mapping, name: str) -> Mapping | None:
    value = item.get(name)
    return value if isinstance(value, Mapping) else None


def check_part(context: Findings, item: Mapping, kind: str, owner: str = "") -> bool:
    """Whether no field of one of the PARTS is misspelt; reports those, and warns of all others."""
    return check_spelling(context, item, PARTS[kind], owner or f"the {kind}", drawn=DRAWN)


def items_of(context: Findings, item: Mapping, name: str) -> list[Mapping]:
    """A list of objects, which may be null; anything else in it is reported."""
    value = item.get(name)
    if isinstance(value, Scalar) and value.value is None:
        return []
    return objects_of(context, item, name, "write a list whose items have names, such as - id: ...")


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A port as it is declared."""

    name: str
    type: str = "any"
    required: bool = False
    default: Json = None
    description: str = ""
    extract: dict[str, Json] | None = None
    parent: str = ""
    index: int = 0
    span: Span | None = field(default=None, compare=False)

    def packed(self) -> dict[str, Json]:
        required = self.required or None
        optional = {"required": required, "default": self.default, "extract": self.extract}
        written = {name: value for name, value in optional.items() if value is not None}
        return {"name": self.name, "type": self.type, **written}


def read_ports(context: Findings, fields: Mapping, name: str, node: str) -> tuple[PortSpec, ...]:
    """The ports that a node or an interface declares; of two with one name the first counts."""
    ports: dict[str, PortSpec] = {}
    for item in items_of(context, fields, name):
        port = _read_port(context, item, node)
        if port is not None:
            ports.setdefault(port.name, port)
    return tuple(ports.values())


def _read_port(context: Findings, item: Mapping, node: str) -> PortSpec | None:
    name = text_of(item.get("name"))
    is_right = check_part(context, item, "port", f"a port of {node!r}")
    if not name:
        if is_right:
            message = f"a port of {node!r} lacks its 'name'"
            context.report("W006", message, item.span, label="this port")
        return None
    kind = text_of(item.get("type")) or "any"
    if kind not in TYPES:
        message = f"port {name!r} of {node!r} is of the type {kind[:60]!r}, which is not known"
        span, advice = span_of(item, "type"), suggest(kind, TYPES)
        context.report("W009", message, span, label="unknown type", help=advice)
        kind = "any"
    default, indexed = item.get("default"), _INDEXED.fullmatch(name)
    return PortSpec(
        name,
        kind,
        required=flag_of(item, "required"),
        default=None if default is None else plain(default),
        description=text_of(item.get("description")),
        extract=_read_extract(context, item, node),
        parent=text_of(item.get("arrayParent")) or (indexed[1] if indexed else ""),
        index=int(indexed[2]) if indexed else 0,
        span=span_of(item, "name"),
    )


def _read_extract(context: Findings, item: Mapping, node: str) -> dict[str, Json] | None:
    written = object_of(item, "extract")
    if written is None or not check_part(context, written, "extract", f"'extract' of {node!r}"):
        return None
    kind, source = text_of(written.get("type")) or "full", text_of(written.get("pattern"))
    if kind not in _EXTRACTS:
        message = f"an output of {node!r} is extracted by {kind[:60]!r}, which is not known"
        span, advice = span_of(written, "type"), suggest(kind, _EXTRACTS)
        context.report("W009", message, span, label="unknown way", help=advice)
        return None
    if kind == "regex":
        try:
            pattern(source)
        except LanguageError as fault:
            span = span_of(written, "pattern")
            context.report("W014", str(fault), span, label="this pattern", help=fault.help)
            return None
    return {"type": kind, "pattern": source}
