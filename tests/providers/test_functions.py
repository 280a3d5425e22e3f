"""The task `use`: functions of the program, of the project, and behind a URL; plugins."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import providers_for, say

from whorl.errors import ProviderError, UsageError
from whorl.plugins import load_reference
from whorl.providers.functions import Tasks
from whorl.providers.settings import Settings
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Estimate, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

functions = Tasks()
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@functions.task()
def add(a: int, b: int) -> int:
    return a + b


@functions.task()
def broken(text: str) -> None:
    raise KeyError(text)


@functions.task()
def strange() -> object:
    return {"a": [object()]}


@functions.task()
def refuse() -> None:
    raise ProviderError("not now", code="P101", retryable=True)


@functions.task()
async def never() -> None:
    await asyncio.Event().wait()


def use(
    name: str, given: dict[str, Any], settings: Settings | None = None, **options: Any
) -> Reply:
    request = Request("r", "s", "use", {"task": name, "with": given}, **options)
    (found,) = say(settings or Settings(), request, functions=functions)
    if isinstance(found, ProviderError):
        raise found
    return found


def fault_of(name: str, given: dict[str, Any], **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        use(name, given, **options)
    return caught.value


@pytest.mark.parametrize(
    ("name", "given", "options", "code", "words"),
    [
        ("refuse", {}, {}, "P101", "not now"),
        ("add", {"a": 1, "c": 2}, {}, "P100", "unexpected keyword"),
        ("strange", {}, {}, "P105", "$.a[0]"),
        ("add", {"a": 1, "b": 2}, {"returns": SCHEMA}, "P105", "does not fit `returns`"),
        ("never", {}, {"timeout_s": 0.05}, "P108", ""),
        ("brokn", {}, {}, "P114", "did you mean 'broken'"),
    ],
)
def test_invalid_results_of_functions_are_errors(
    name: str, given: dict[str, Any], options: dict[str, Any], code: str, words: str
) -> None:
    fault = fault_of(name, given, **options)

    assert (fault.code, words in str(fault)) == (code, True), str(fault)


def test_names_are_registered_once() -> None:
    with pytest.raises(UsageError, match="twice"):
        functions.task("add")(add)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("project_"):
            del sys.modules[name]


def test_functions_of_the_project(project: Path) -> None:
    (project / "project_activities.py").write_text(
        "def search(input):\n    return 'found ' + input['query']\n\nlimit = 5\n"
    )
    (project / "project_broken.py").write_text("raise RuntimeError('no database')\n")
    tasks = {
        "activity:search": "python:project_activities:search",
        "missing": "python:project_activities:nothing",
        "value": "python:project_activities:limit",
        "broken-module": "python:project_broken:x",
    }
    settings = settings_from({"tasks": tasks}, {}, project_root=str(project))

    reply = use("activity:search", {"input": {"query": "loops"}}, settings)

    assert reply.value == "found loops"
    assert sys.path[-1] == str(project.resolve())
    for name, word in (
        ("missing", "has no 'nothing'"),
        ("value", "not a function"),
        ("broken-module", "no database"),
    ):
        fault = fault_of(name, {}, settings=settings)
        assert fault.code == "P114"
        assert word in str(fault)


def test_plugins_of_other_packages(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "project_plugin.py").write_text(
        "from whorl.providers.task import Estimate, Reply\n\n"
        "class Shout:\n"
        "    effect = 'none'\n"
        "    def __init__(self, context):\n        self.context = context\n"
        "    def estimate(self, request):\n        return Estimate()\n"
        "    async def perform(self, request, emit):\n"
        "        return Reply(request.inputs.pop('text').upper())\n"
    )
    metadata = project / "project_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: project-plugin\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[whorl.tasks]\nshout = project_plugin:Shout\nlost = project_nowhere:Lost\n"
    )
    monkeypatch.syspath_prepend(str(project))
    importlib.invalidate_caches()

    async def main() -> Any:
        async with providers_for(Settings()) as providers:
            assert providers.effect("shout") == "none"
            with pytest.raises(UsageError, match=r"'lost'.*project_nowhere"):
                providers.kind("lost")
            with pytest.raises(UsageError) as caught:
                providers.kind("shuot")
            assert "'shout'" in caught.value.help
            inputs: Any = {"task": "shout", "with": {"text": "you"}}
            assert providers.effect("use", inputs) == "none"
            use = Request("r", "s", "use", inputs)
            assert providers.kind("use").estimate(use) == Estimate()
            direct = Request("r", "s", "shout", {"text": "hi"})
            return [
                (await providers.kind("shout").perform(direct, print)).value,
                (await providers.kind("use").perform(use, print)).value,
                inputs["with"],
            ]

    assert asyncio.run(main()) == ["HI", "YOU", {"text": "you"}]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        (
            "import whorl.providers, whorl.providers.registry, whorl.providers.settings.sections",
            "httpcore2 httpx2 genai_prices asyncio anyio ssl xllamacpp mcp mcp_types pydantic",
        ),
        (
            "from whorl.providers.registry import KINDS, Providers\n"
            "from whorl.providers.settings.sections import settings_from\n"
            "providers = Providers(settings_from({'mcp': {'t': {'command': ['x']}}}, {}))\n"
            "[providers.kind(name) for name in KINDS]",
            "httpcore2 httpx2 genai_prices anyio xllamacpp mcp mcp_types pydantic",
        ),
    ],
    ids=["settings", "all kinds"],
)
def test_nothing_heavy_is_imported_before_it_is_used(code: str, heavy: str) -> None:
    import subprocess

    code = f"import sys\n{code}\nprint(sorted(set({heavy.split()}) & set(sys.modules)))"
    source = str(Path(load_reference.__code__.co_filename).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
