"""Files of every format, damaged at random: a workflow or diagnostics, nothing else, soon (T16).

Most are small, from the cases of conformance: damage leaves much of them readable, and together
they use all that a format has. The examples are long. So it is with expressions and templates
made of pieces of them.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from native_files import EVERYTHING

from campaign import SEED, inputs
from conformance.literate import load_cases
from threats import tally
from whorl import ir
from whorl.dialects import NoFiles, read_workflow
from whorl.errors import InvalidWorkflow
from whorl.language import Expression, LanguageError, MappingScope, evaluate, free_names

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.threat(row="T16"), pytest.mark.campaign]

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
SOURCES = {
    "native": sorted((ROOT / "src" / "whorl" / "templates" / "native").glob("*.yaml")),
    "loom": sorted((EXAMPLES / "loom").glob("*.json")),
    "mcp-cli": sorted((EXAMPLES / "mcp-cli").glob("*.yaml")),
    "orka": sorted((EXAMPLES / "orka").glob("*.yml")),
    "shodan": sorted((EXAMPLES / "shodan").rglob("*.yaml")),
    "studio": sorted((EXAMPLES / "studio").glob("*.json")),
}
PIECES = [
    *("{{", "}}", "{%", "%}", "@{", "@", "${", "'", '"', "|", ":", "[", "]", "{", "}", ",", "-"),
    *("null", "true", "~", "0", "-1", "1e999", "99999999999999999999", "\x00", "\ud800", "\u2028"),
    *("&a", "*a", "<<", "!!python/object", "{{ x }}", "@{1}", "__class__", "\n", "  ", "\t", "#"),
    *("steps", "nodes", "agents", "actions", "loop", "until", "type", "id", "name", "edges", "{}"),
    *("?", "\u0663", "iteration", "[]", "[[1]]", "{a: {b: c}}", "7"),
]
WORDS = [
    *("a", "items", "obj", "1", "2.5", "'x'", "''", "[1, 2]", "{'k': 1}", "null", "true", "none"),
    *("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", ">=", "!=", "and", "or", "not", "in"),
    *(".", "(", ")", "[", "]", "{", "}", ",", ":", "|", "is", "if", "else", "upper", "length"),
    *("join", "map", "sort", "default", "range", "tojson", "split", "concat", "add", "string"),
    *("{{", "}}", "{% for i in items %}", "{% endfor %}", "{% if a %}", "{% endif %}", "@{", "}"),
    *("{%", "%}", "{#", "#}", "{{-", "-%}", "{% set ns =", "{% macro m(a) %}", "{% endmacro %}"),
    *("{% call m() %}", "{% with", "{% filter upper %}", "{% raw %}", "'", '"', "\\", "\n", "é"),
    *("=", "defined", "namespace()", "loop.index", "elif", "endcall", "endwith", "endfilter", "?"),
    *("__class__", "variables('a')", "?.", "\x00", "\ud800", "99999999999999999999"),
]
SYNTAXES = ("jinja", "template", "plain", "logic", "logic-lenient")
CPU_S_MAX = 2.0
# Of so many files one is an example.
EXAMPLE_OF = 10
SCOPE = MappingScope({"a": "text", "items": [1, 2, 3], "obj": {"k": [1]}, "$variables": {"a": 1}})


def _damaged(text: str, chance: random.Random) -> str:
    """The text with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        lines = text.split("\n")
        line = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                text = text[:at] + chance.choice(PIECES) + text[at + chance.randint(0, 12) :]
            case 1:
                text = text[:at]
            case 2:
                text = "\n".join(lines[:line] + lines[line + chance.randint(1, 3) :])
            case 3:
                text = "\n".join(
                    [*lines[:line], lines[chance.randrange(len(lines))], *lines[line:]]
                )
            case 4:
                name, colon, _ = lines[line].partition(":")
                lines[line] = f"{name}{colon} {chance.choice(PIECES)}"
                text = "\n".join(lines)
            case _:
                end = at + chance.randint(1, 200)
                text = text[:end] + text[at:]
    return text


def _timed(action: Callable[[], None], source: str) -> None:
    began = time.process_time()
    action()
    took = time.process_time() - began
    tally("most ms of the processor for one", took * 1000)
    assert took < CPU_S_MAX, source


@pytest.mark.parametrize("dialect", SOURCES)
def test_a_damaged_file_is_read_or_refused(dialect: str) -> None:
    chance = random.Random(f"{SEED} {dialect}")
    long = [(path.name, path.read_text()) for path in SOURCES[dialect]]
    long += [("everything.yaml", EVERYTHING)] * (dialect == "native")
    cases = [case.workflow for case in load_cases() if case.dialect == dialect]
    suffix = SOURCES[dialect][0].suffix
    short = [(f"case{'.json' if text.startswith('{') else suffix}", text) for text in cases]
    assert len(long) > 2
    assert len(short) > len(long)

    for _ in range(inputs(120)):
        file, text = chance.choice(short if chance.randrange(EXAMPLE_OF) else long)
        damaged = _damaged(text, chance)

        def read(file: str = file, damaged: str = damaged) -> None:
            with suppress(InvalidWorkflow):
                workflow = read_workflow(damaged, file, NoFiles(), dialect=dialect).workflow
                assert ir.from_json(ir.to_json(workflow)) == workflow

        _timed(read, damaged)
        tally("damaged files for six readers")


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_any_pieces_of_an_expression_give_a_value_or_an_error(syntax: str) -> None:
    chance = random.Random(f"{SEED} {syntax}")
    for _ in range(inputs(400)):
        source = chance.choice(("", " ")).join(chance.choices(WORDS, k=chance.randint(1, 12)))
        source = f"@{source}" if syntax[:5] == "logic" and chance.random() < 0.7 else source

        def compute(source: str = source) -> None:
            expression = Expression(syntax, source)
            offset: int | None = 0
            try:
                if syntax[:5] != "logic":
                    assert all(
                        source[u.offset :].startswith(u.name) for u in free_names(expression)
                    )
                json.dumps(evaluate(expression, SCOPE), allow_nan=False)
            except LanguageError as error:
                offset = error.offset
            assert offset is None or 0 <= offset <= len(source), source

        _timed(compute, source)
        tally("expressions")
