"""YAML and JSON as a person would write them: keys in their order, texts in blocks, few quotes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from whorl.language import Json

WIDTH = 100
_INLINE_MAX = 72
# Words that readers of older YAML take for true or false.
_OLD_WORDS = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|~)")
# Texts that cannot stand without quotes; double ones look the same in JSON.
_NEEDS_QUOTES = re.compile(r"^[{\[&*!|>%@`#'\"]|: |:$| #")
# What YAML takes for the end of a line, or forbids, outside of double quotes.
_BREAKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
# The core schema of YAML 1.2.
_RESOLVERS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
)


class Inline(dict[str, Any]):
    """An object that is written on one line where it fits."""


def emit_yaml(value: Any) -> str:
    """A value as YAML."""
    return yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
        default_flow_style=False,
    )


def emit_json(value: Json) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def ignore_aliases(self, data: Any) -> bool:
        """A part that stands in two places is written twice."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Items of a list are indented below their key."""
        super().increase_indent(flow, False)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if _BREAKS.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif _OLD_WORDS.fullmatch(text) or (_NEEDS_QUOTES.search(text) and not set('"\\') & set(text)):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _object(dumper: Any, value: dict[str, Any]) -> yaml.MappingNode:
    node: yaml.MappingNode = dumper.represent_mapping("tag:yaml.org,2002:map", value)
    for key, _ in node.value:
        # A key is always a text, so that it needs no quotes to be one.
        if _OLD_WORDS.fullmatch(key.value) or key.value.isdecimal():
            key.style, key.tag = None, dumper.resolve(yaml.ScalarNode, key.value, (True, False))
    is_short = isinstance(value, Inline) and _fits(value)
    node.flow_style = is_short or not value
    return node


def _list(dumper: _Dumper, value: list[Any]) -> yaml.SequenceNode:
    is_flat = not any(isinstance(item, list | dict) for item in value)
    is_flow = not value or (is_flat and _fits(value))
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flow)


def _fits(value: Any) -> bool:
    written = json.dumps(value, ensure_ascii=False)
    return len(written) <= _INLINE_MAX and "\\n" not in written


for _tag, _pattern, _first in _RESOLVERS:
    _Dumper.add_implicit_resolver(_tag, re.compile(f"(?:{_pattern})\\Z"), [*_first, ""])
_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _object)
_Dumper.add_representer(Inline, _object)
_Dumper.add_representer(list, _list)
