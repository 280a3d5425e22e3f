"""Function nodes: bodies and modules in JavaScript, run by Node with the operator's leave."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from shodan_files import HEAD, ROOT, run, settle

from waiting import PATIENCE_S
from whorl.errors import ProviderError
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def perform(
    folder: Path, inputs: dict[str, Any], *, allow: Any = True, path: str = PATH["PATH"]
) -> Any:
    """Runs one function."""
    settings = settings_from(
        {"allow": {"commands": allow}}, {"PATH": path}, project_root=str(folder)
    )

    async def main() -> Any:
        providers = Providers(settings)
        try:
            asked = Request("run-1", "work", "javascript", inputs, timeout_s=PATIENCE_S)
            return (await providers.kind("javascript").perform(asked, lambda text: None)).value
        finally:
            await providers.close()

    return asyncio.run(main())


@needs_node
def test_a_body_is_given_inputs_and_returns_an_object(tmp_path: Path) -> None:
    code = "console.log('noise'); return { sum: inputs.values.reduce((a, b) => a + b, 0) }"

    assert perform(tmp_path, {"code": code, "inputs": {"values": [1, 2, 4]}}) == {"sum": 7}


@needs_node
def test_a_module_has_a_default_export(tmp_path: Path) -> None:
    code = "export default async ({ name }) => ({ said: `hi ${name}` })"
    given = {"code": code, "module": True, "inputs": {"name": "heron"}}

    assert perform(tmp_path, given, allow=["node"]) == {"said": "hi heron"}


@needs_node
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("throw new Error('too bad')", "Error: too bad"),
        ("return {", "SyntaxError"),
        ("process.exit(3)", "gave no result .exit code 3"),
    ],
)
def test_a_function_that_fails_says_why(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        perform(tmp_path, {"code": code})


def test_a_function_needs_leave(tmp_path: Path) -> None:
    for allow in (False, ["sh"]):
        with pytest.raises(ProviderError, match="commands are not allowed") as caught:
            perform(tmp_path, {"code": "return {}"}, allow=allow)
        assert caught.value.code == "R110"


def test_a_function_needs_node(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="'node' was not found on PATH"):
        perform(tmp_path, {"code": "return {}"}, path=str(tmp_path))


TYPED = "const add = (a: number, b: number): number => a + b; return { sum: add(1, 2) }"
COLOURS = "enum Colour { Red, Blue }; export default () => ({ colour: Colour[1] as string })"


def version_of(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.findall(r"[0-9]+", said)[:2])


@needs_node
def test_typescript_runs_or_says_what_it_needs(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node is not None
    path = f"{Path(node).parent}:/usr/bin:/bin"
    if version_of(node) >= (22, 13):
        assert perform(tmp_path, {"code": TYPED}, path=path) == {"sum": 3}
        return
    for name, words in (("add.ts", "; it is TypeScript"), ("add", "; if it is TypeScript")):
        with pytest.raises(ProviderError, match=words) as caught:
            perform(tmp_path, {"code": TYPED, "name": name}, path=path)
        assert "install Node 22.13 or newer" in str(caught.value)


@needs_node
def test_a_fault_of_the_body_is_no_fault_of_its_language(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="SyntaxError") as caught:
        perform(tmp_path, {"code": "return JSON.parse('{')"})

    assert "TypeScript" not in str(caught.value)


@pytest.mark.programs
def test_a_newer_node_takes_typescript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "agents"))
    newer = import_module("test_real_programs").installed("node")
    path = f"{newer}:/usr/bin:/bin"

    assert perform(tmp_path, {"code": TYPED}, path=path) == {"sum": 3}
    colour = perform(tmp_path, {"code": COLOURS, "module": True, "name": "c.ts"}, path=path)
    assert colour == {"colour": "Blue"}
    with pytest.raises(ProviderError, match="SyntaxError") as caught:
        perform(tmp_path, {"code": "return {"}, path=path)
    assert "install" not in str(caught.value)


PRESETS: dict[str, tuple[str, list[str] | None, list[Any], Any]] = {
    "NOT": ("return { result: !inputs.value }", ["value"], [True], False),
    "AND": ("return { result: inputs.values.every(Boolean) }", None, [True, True], True),
    "OR": ("return { result: inputs.values.some(Boolean) }", None, [False, True], True),
    "CONCAT": ("return { result: inputs.values.join('-') }", None, ["a", "b"], "a-b"),
}


@needs_node
@pytest.mark.parametrize("name", PRESETS)
def test_the_usual_operators_are_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    code, ports, values, expected = PRESETS[name]
    names = ports or [f"values[{index}]" for index in range(len(values))]
    lines = [
        f"  - {{id: c{n}, data: {{nodeType: constant, value: {str(v).lower()}}}}}\n"
        for n, v in enumerate(values)
    ]
    inputs = ", ".join(f"{{name: '{one}', type: any}}" for one in names)
    edges = [
        f"  - {{source: c{n}, target: op, sourceHandle: 'output:value', "
        f"targetHandle: 'input:{one}'}}\n"
        for n, one in enumerate(names)
    ]
    folder = settle(tmp_path / "project", monkeypatch)
    (folder / "a.yaml").write_text(
        f"{HEAD}nodes:\n{''.join(lines)}"
        f'  - {{id: op, data: {{nodeType: function, code: "{code}", inputs: [{inputs}], '
        f"outputs: [{{name: result, type: any}}]}}}}\nedges:\n{''.join(edges)}"
    )

    result = run(folder / "a.yaml")

    assert result.outputs == {"result": expected}, result.error
