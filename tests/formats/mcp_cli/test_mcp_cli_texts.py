"""Texts mean what they do by the public rule: what is known is replaced, the rest is kept."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_cli_files import HEAD

from campaign import amount
from whorl import ir
from whorl.dialects.files import NoFiles
from whorl.formats.mcp_cli.variables import FileContext, Item, Texts, Variables, View
from whorl.interpreter.evaluation import value_of
from whorl.language import MappingScope
from whorl.source import Mapping, Scalar
from whorl.source.yaml import read_yaml

VALUES = {
    "draft": "a {{draft}} of {% x %}",
    "first-draft": "b",
    "input": "",
    "not": "n",
    "k 2": "z",
}
PIECES = st.sampled_from(
    [
        *("{{draft}}", "{{ first-draft }}", "{{input}}", "{{not}}", "{{k 2}}", "{{a.b}}", "{{}}"),
        *("{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "{% raw %}", "{% endraw %}", "-", "\n"),
        *("\r\n", "\\", '"', "'", "\\n", "é", "😀", "\t", " ", "x"),
        *("{{ draft", "draft }}", "{{{draft}}}"),
    ]
)


def expected(text: str) -> str:
    def put(found: re.Match[str]) -> str:
        return VALUES.get(found[1].strip(), found[0])

    return re.sub(r"\{\{([^{}]+)\}\}", put, text)


def texts() -> Texts:
    document = read_yaml(HEAD + "steps: []", "a.yaml")
    variables = Variables()
    for name in ("draft", "first-draft", "not", "k 2"):
        key = Scalar(name, document.root.span)
        variables.items[name] = Item(name, key, Mapping((), document.root.span))
    return Texts(FileContext(document, NoFiles()), variables)  # type: ignore[arg-type]


def scope_of(reader: Texts) -> MappingScope:
    """What a run that is given nothing more sees: an input that is not given is its placeholder."""
    inputs = {name: one.written for name, one in reader.variables.inputs.items()}
    return MappingScope(VALUES | inputs)


@pytest.mark.campaign
@settings(deadline=None, max_examples=amount(100, 800))
@given(st.lists(PIECES, max_size=12).map("".join))
def test_a_prompt_is_what_the_public_rule_makes_of_it(text: str) -> None:
    reader = texts()
    value = reader.read(Scalar(text, reader.context.root.span), View())

    assert value_of(value, scope_of(reader)) == expected(text)


@pytest.mark.campaign
@settings(deadline=None, max_examples=amount(100, 800))
@given(st.lists(PIECES, max_size=8).map("".join))
def test_an_expression_of_a_text_is_the_same_text(text: str) -> None:
    reader = texts()
    source = reader.source(Scalar(text, reader.context.root.span), View())

    assert value_of(ir.Expression("jinja", source, "mcp-cli"), scope_of(reader)) == expected(text)
