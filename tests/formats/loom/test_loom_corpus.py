"""Files and published cases of the public systems: they load and run, or say why not."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import SHARED, read, run

from whorl.errors import InvalidWorkflow
from whorl.formats.loom.linting import lint_for_azure
from whorl.language import Expression, Json, LanguageError, MappingScope, evaluate
from whorl.source.json import read_json

if TYPE_CHECKING:
    from pathlib import Path

AZURE = SHARED / "corpora" / "logic-apps"
DEFINITIONS = sorted(AZURE.glob("definitions/[0-9]*.json"))
RUNS = sorted(AZURE.glob("runs/*.json"))

needs_corpus = pytest.mark.skipif(
    not AZURE.exists(), reason="the corpora are not beside the project"
)


@needs_corpus
@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem[:40])
def test_nothing_false_is_said_of_definitions_of_azure(file: Path) -> None:
    """What Azure has saved is refused nowhere; a warning names what the file does not hold."""
    text = file.read_text(encoding="utf-8-sig")
    for warning in read(text, file.name).warnings:
        missing = re.search(r"^(?:there is no parameter|variable) '(.+?)'", warning.message)
        is_deployed = "only after the deployment" in warning.message
        # Who starts it there is not here; that says nothing about the file.
        is_elsewhere = is_deployed or (
            warning.code == "W030" and re.search("not (registered|watched|start)", warning.message)
        )
        assert is_elsewhere or (missing and f'"{missing[1]}": {{' not in text), warning
    found, is_refused = lint_for_azure(read_json(text, file.name))

    assert not is_refused
    assert [d.message for d in found if "and they all change" not in d.message] == []


@needs_corpus
@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.stem)
def test_whole_runs_give_what_the_real_runtime_gave(file: Path) -> None:
    case = json.loads(file.read_text(encoding="utf-8"))
    definition = case["definition"]
    expected = case["expected"]
    trigger = case.get("trigger", {})
    given = dict(case.get("parameters", {})) | dict(case.get("appsettings", {}))
    for name in ("headers", "body"):
        if name in trigger:
            given[name] = trigger[name]
    if str(case.get("options", {}).get("retryPolicy", "")).startswith("none"):
        _without_retries(definition)
    ran = run(definition, given, web=_web(case.get("mocks", [])))

    if "runStatus" in expected:
        assert ran.status == expected["runStatus"].lower()
    if "response" in expected:
        assert ran.output == expected["response"]["body"]
    for name, status in expected.get("actions", {}).items():
        assert (name, ran.actions[name]["status"]) == (name, status)
    for name, result in expected.get("loop_results", {}).items():
        assert ran.loops[name]["exit_reason"] == {"completed": "condition_met"}.get(
            result["status"], result["status"]
        )
        if "iterations" in result:
            assert ran.loops[name]["iterations"] == result["iterations"]
    for request in expected.get("requests", []):
        sent = [r.inputs for r in ran.world.requests if r.inputs.get("method") == request["method"]]
        assert request["body"] in [inputs.get("body") for inputs in sent]


def _without_retries(definition: Any) -> None:
    if isinstance(definition, dict):
        if definition.get("type") == "Http":
            definition["inputs"]["retryPolicy"] = {"type": "none"}
        for inner in definition.values():
            _without_retries(inner)


def _web(mocks: list[dict[str, Any]]) -> dict[str, list[tuple[int, Any]]]:
    """The replies by address; a mock may be for some of the calls of its address only."""
    web: dict[str, list[tuple[int, Any]]] = {}
    for call in range(1, 11):
        answered: set[str] = set()
        for mock in mocks:
            key = f"{mock['method']} {mock['path']}"
            is_excluded = call in mock.get("not_match_calls", [])
            if key in answered or is_excluded or call not in mock.get("match_calls", [call]):
                continue
            answered.add(key)
            reply = (mock["status"], mock.get("body", mock.get("text")))
            web.setdefault(key, []).append(reply)
    return web


# The document that the dialect comes from: its examples, line by line.
SEEDS = sorted((SHARED / "seeds").glob("003_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the document is not here")


@needs_seed
def test_every_whole_example_loads() -> None:
    """Those that leave something out say so, at its place; all others load."""
    text = SEEDS[0].read_text(encoding="utf-8")
    for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        if "..." in found.replace('"..."', ""):
            with pytest.raises(InvalidWorkflow):
                read(found)
        else:
            assert read(found).workflow.body.nodes


CASES = AZURE / "expressions.json"
_TYPE = "a document type can name files and make text grow without end, so XML with one is refused"
KNOWN: dict[str, str] = {f"wdl-0{number}": _TYPE for number in (679, 680, 681, 682, 683, 684, 685)}


def scope_of(context: dict[str, Any]) -> MappingScope:
    outputs = context.get("triggerOutputs")
    if "triggerBody" in context:
        outputs = {"body": context["triggerBody"]}
    names: dict[str, Json] = {
        "$variables": context.get("variables", {}),
        "$parameters": context.get("parameters", {}),
        "$actions": context.get("actions", {}),
        "$items": context.get("items", {}),
        "$iterations": context.get("iterationIndexes", {}),
        "$trigger": {"name": "manual", "outputs": outputs},
        "$seed": "corpus",
    }
    if "item" in context:
        names["$item"] = context["item"]
    if "now" in context:
        names["$now"] = datetime.fromisoformat(context["now"][:26] + "+00:00").timestamp()
    return MappingScope(names)


def passes(case: dict[str, Any]) -> bool:
    try:
        actual = evaluate(Expression("logic", case["expr"]), scope_of(case.get("context", {})))
    except LanguageError as error:
        wanted = case.get("error")
        return wanted is True or (wanted is not None and wanted.lower() in error.message.lower())
    if "error" in case:
        return False
    if case["type"] == "float" and not isinstance(actual, float):
        return False
    return _same(case["expected"], actual)


def _same(expected: Json, actual: Json) -> bool:
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return expected == actual and not isinstance(actual, bool)
    # As text, so that the order of properties counts, and true is not 1.
    return json.dumps(expected) == json.dumps(actual)


@needs_corpus
def test_published_cases_pass_but_for_those_explained() -> None:
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    failed = {case["id"] for case in cases if not passes(case)}
    tiers = Counter(case["tier"] for case in cases)
    by_tier = Counter(case["tier"] for case in cases if case["id"] in failed)

    assert set(KNOWN) == failed
    assert by_tier["core"] == 0
    assert by_tier.total() <= 0.05 * (tiers.total() - tiers["core"])
