"""The fields of each section of the format: made of the rows that tell of them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields as attributes_of
from typing import TYPE_CHECKING, Any

from whorl.dialects.native import field_types, numbers
from whorl.dialects.native.objects import (
    Derive,
    Field,
    FieldsOf,
    FieldTable,
    ListOf,
    MapOf,
    Texts,
    Values,
)
from whorl.dialects.native.rows import TABLE
from whorl.ir.loop_rules import ITERATIONS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping


TEMPLATE = field_types.Template("a text, which may hold {{ }}")
EXPRESSION = field_types.Condition()
VALUE = field_types.Anything()
MODEL = Texts(
    (
        field_types.Text("a model such as openai/gpt-5-mini"),
        ListOf(field_types.Text("a model"), least=1),
    )
)
_FORMS: dict[str, field_types.Form] = {
    "codes": Texts((field_types.Text("an error code, HTTP status or word"), ListOf(VALUE))),
    "count": numbers.Count(),
    "defaults": MapOf(FieldsOf(VALUE, names="any"), names="any"),
    "delay": numbers.Duration(template=True, is_delay=True),
    "dialect": field_types.Text("the name of a dialect"),
    "duration": numbers.Duration(),
    "env": MapOf(VALUE, "variables by name", "any"),
    "expression": EXPRESSION,
    "facts": MapOf(field_types.Text(), names="any"),
    "fields": FieldsOf(VALUE, "inputs by name", "any"),
    "headers": MapOf(VALUE, "headers by name", "any"),
    "iterations": numbers.Number(1, ITERATIONS_MAX, whole=True, template=True, is_limit=True),
    "label": field_types.Text("a name"),
    "library": field_types.Text("the name of a library"),
    "measured": field_types.Computed("an expression or a text with {{ }}, or a number"),
    "model": MODEL,
    "name": field_types.Text("a name", needed=True),
    "outputs": MapOf(VALUE, "outputs by name, such as {text: '{{ write }}'}", "dashed"),
    "paths": field_types.OneOf((TEMPLATE, Values(VALUE, least=1))),
    "pattern": field_types.Text("a regular expression with a group in parentheses"),
    "query": MapOf(VALUE, "parameters by name", "any"),
    "raw": field_types.Raw(),
    "record": FieldsOf(VALUE, "names with values", "any"),
    "servers": ListOf(field_types.Text("the name of an MCP server or task")),
    "sets": MapOf(VALUE, "variables with values"),
    "template": TEMPLATE,
    "text": field_types.Text(),
    "texts": ListOf(field_types.Text()),
    "time": numbers.Duration(template=True),
    "tools": ListOf(field_types.Text("the name of a tool")),
    "truth": field_types.Boolean(),
    "value": VALUE,
}
# What an attribute of the IR can hold that no row tells of, by its type.
_BY_TYPE: dict[str, field_types.Form] = {
    "str": field_types.Text(),
    "bool": field_types.Boolean(),
    "int": numbers.Number(whole=True),
    "float": numbers.Number(),
    "Value": VALUE,
    "Expression": EXPRESSION,
    "tuple[str, ...]": ListOf(field_types.Text()),
    "tuple[tuple[str, Value], ...]": MapOf(VALUE, names="any"),
    "tuple[tuple[str, str], ...]": MapOf(field_types.Text(), names="any"),
    "tuple[tuple[Part, str], ...]": MapOf(field_types.Text(), names="any"),
    "tuple[Expression, ...]": ListOf(EXPRESSION),
}


def _sections() -> tuple[dict[str, str], dict[str, list[list[str]]]]:
    """What the heading of each section says, and its rows."""
    docs: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = defaultdict(list)
    joined = re.sub(r"\n +", " ", TABLE)
    for part in re.split(r"^\[", joined, flags=re.MULTILINE)[1:]:
        heading, *lines = part.split("\n")
        name, _, doc = heading.removesuffix("]").partition(": ")
        docs[name] = doc
        for line in filter(None, lines):
            field, *rest = re.split(r"\s{2,}", line, maxsplit=3)
            section, _, field = field.rpartition(".")
            rows[section or name].append([field, *rest])
    return docs, rows


DOCS, _ROWS = _sections()


def fields(
    section: str,
    own: Mapping[str, field_types.Form] | None = None,
    maker: Any = None,
    *without: str,
    **derive: Derive,
) -> FieldTable:
    """The fields of a section of the table, and one for each other attribute of a class.

    `own` are forms that the section has beside the common ones; what a field is by default may be
    derived from others.
    """
    table: FieldTable = {}
    for mark, form, attribute, doc in _ROWS[section]:
        name = mark.strip("~^*")
        is_rare = mark.startswith("~")
        table[name] = Field(
            (own or {}).get(form) or _FORMS.get(form) or _plain_form(form),
            f"{doc} (in converted files)" if is_rare else doc,
            name if attribute == "=" else attribute,
            required=mark.endswith("*"),
            rare=is_rare,
            is_read_only=mark.startswith("^"),
            derive=derive.get(name),
        )
    return table if maker is None else {**table, **_others(table, maker, without)}


def _plain_form(words: str) -> field_types.Form:
    kind, _, rest = words.partition(" ")
    if kind == "one":
        choices, _, others = rest.removeprefix("of ").partition(", ")
        return field_types.Choice(tuple(choices.split()), tuple(others.split()))
    assert kind in ("number", "whole"), words
    low, high = (*(int(bound) for bound in rest.split()), None, None)[:2]
    return numbers.Number(low, high, whole=kind == "whole")


def _others(table: FieldTable, maker: Any, without: tuple[str, ...]) -> FieldTable:
    """A rare field for each attribute of a class that no other one says."""
    excluded = {field.attribute for field in table.values()} | {"place", *without}
    docs = {row[0]: row[1] for row in _ROWS["others"]}
    rest: FieldTable = {}
    for attribute in attributes_of(maker):
        name, kind = attribute.name.removesuffix("_s"), str(attribute.type).removesuffix(" | None")
        form: field_types.Form = _BY_TYPE.get(kind) or field_types.Raw()
        if name != attribute.name:
            form = numbers.Duration()
        elif kind.startswith("Literal"):
            form = field_types.Choice(tuple(re.findall(r"\w+", kind.removeprefix("Literal"))))
        if attribute.name not in excluded:
            doc = docs.get(attribute.name, f"{attribute.name!r} of the engine")
            rest[name] = Field(form, f"{doc} (in converted files)", attribute.name, rare=True)
    return rest
