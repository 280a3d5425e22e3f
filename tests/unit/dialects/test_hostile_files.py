"""Files made to take time: very many steps, keys that repeat, texts that patterns stumble over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stopwatch import within
from whorl.dialects import NoFiles, read_workflow
from whorl.errors import InvalidWorkflow, Span
from whorl.formats.loom.definitions import Template
from whorl.formats.loom.forms import is_deployed
from whorl.formats.studio.functions.transforms import find_path, read_path
from whorl.language import LanguageError
from whorl.source import Scalar, Sequence


def _orka(count: int, strategy: str, prompt: str) -> str:
    names = ", ".join(f"a{n}" for n in range(count))
    agents = "".join(
        f"  - {{id: a{n}, type: openai-answer, prompt: {prompt!r}}}\n" for n in range(count)
    )
    return f"orchestrator: {{id: x, strategy: {strategy}, agents: [{names}]}}\nagents:\n{agents}"


def _native(count: int) -> str:
    steps = "".join(f"  s{n}: {{run: echo hi}}\n" for n in range(count))
    return f"whorl: 1\nname: x\nsteps:\n{steps}"


def _loom(count: int) -> str:
    actions: dict[str, Any] = {
        f"A{n}": {"type": "Compose", "inputs": n, "runAfter": {f"A{n - 1}": []} if n else {}}
        for n in range(count)
    }
    return json.dumps({"definition": {"triggers": {}, "actions": actions}})


def _codes(text: str, file: str) -> set[str]:
    try:
        read_workflow(text, file, NoFiles())
    except InvalidWorkflow as fault:
        return {found.code for found in fault.diagnostics}
    return set()


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("text", "file"),
    [
        (_orka(3_000, "sequential", "hello"), "x.yml"),
        (_orka(3_000, "parallel", "hello"), "x.yml"),
        (_orka(1_500, "parallel", "{{ previous_outputs }}"), "x.yml"),
        (_native(6_000), "x.yaml"),
        (_loom(4_000), "x.json"),
        ("whorl: 1\n" + "k: 1\n" * 80_000, "x.yaml"),
        ('{"whorl": 1' + ', "k": 1' * 80_000 + "}", "x.json"),
    ],
    ids=["orka", "orka-parallel", "orka-waits", "native", "loom", "yaml-keys", "json-keys"],
)
def test_a_file_with_too_much_in_it_is_refused_quickly(text: str, file: str) -> None:
    assert "W002" in within(3, lambda: _codes(text, file))


@pytest.mark.parametrize(
    "text",
    ["[a(" + ")" * 20_000, "[a(" + ")" * 20_000 + "]", "[" + " " * 20_000, "[a(" + "[)" * 9_000],
)
def test_strings_of_a_deployment_are_recognised_in_linear_time(text: str) -> None:
    within(0.5, lambda: is_deployed(text))


def test_all_strings_of_a_template_share_one_fuel() -> None:
    template = Template(is_template=True)
    long = Scalar("[length(join(range(0,90000),','))]", Span("template.json", 1, 1))

    def compute() -> list[object]:
        found = [template.deploy(long)]
        with pytest.raises(InvalidWorkflow, match="too many steps"):
            template.deploy(Sequence((long,) * 200, long.span))
        return [*found]

    found = within(4, compute)

    assert isinstance(found[0], Scalar)
    assert isinstance(found[0].value, int)


@pytest.mark.parametrize(
    "path",
    [
        "$[?(@.a==1" + " " * 30_000 + "(",
        "$[?(@.a==1" + " " * 8_000 + "(",
        "$[?(" + " " * 8_000 + "(",
        "$[" + " " * 8_000,
        "$[1" + " " * 8_000 + "(",
    ],
)
def test_a_path_is_refused_in_linear_time(path: str) -> None:
    def read() -> None:
        with pytest.raises(LanguageError):
            read_path(path)

    within(0.5, read)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$[" + ",".join("*" * 2_000) + "]", [0] * 50_000),
        ("$[" + ",".join("0" * 600) + "]..zz", [[0] * 90_000]),
        ("$[" + ",".join(["?(@.a==1)"] * 500) + "]", [{"a": 2}] * 90_000),
    ],
)
def test_a_path_that_finds_too_much_is_refused_quickly(path: str, value: Any) -> None:
    def find() -> None:
        with pytest.raises(LanguageError):
            find_path(path, value)

    within(2, find)


def test_spaces_around_what_a_filter_compares_mean_nothing() -> None:
    items: Any = [{"a": 1}, {"a": 2}]

    assert find_path("$[?( @.a == 2 )]", items) == [{"a": 2}]
    assert find_path("$[? @.a==1 ]", items) == [{"a": 1}]
