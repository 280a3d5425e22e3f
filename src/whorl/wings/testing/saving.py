"""A test file that is made from a run: mocks by name with what its steps really got."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting.results import result_of, workflow_of
from whorl.services.records import document, records_of
from whorl.wings.testing.checking import COMPUTING
from whorl.wings.testing.format import FORMAT
from whorl.wings.testing.step_keys import Key, parts_of, steps_of

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.testing.step_keys import Step

RECORDS_MAX = 100_000
_LOOP = ("iterations", "exit_reason", "stopped_by")
_ENDED = ("succeeded", "failed", "timed_out")


def saved_test(store: SqliteStore, run: RunId, workflow: str, name: str) -> str:
    """The text of a test file in which a workflow does again what a run did."""
    result: dict[str, Any] = result_of(store, run)
    first = next(iter(store.read(run, limit=1))).event
    steps = steps_of(workflow_of(store, run))
    found = records_of(store, run, depth=None, limit=RECORDS_MAX).records
    records = [record for record in map(document, found) if _is_answered(record)]
    has_budget = any(loop["exit_reason"] == "budget" for loop in result["loops"])
    mocks, counts = _mocks(records, steps, has_usage=has_budget)
    expect: dict[str, Any] = {"status": result["status"], "outputs": result["outputs"]}
    if result["error"] is not None:
        expect["error"] = {name: result["error"][name] for name in ("code", "message")}
        del expect["outputs"]
    expect["loops"] = {
        loop["path"]: {name: loop[name] for name in _LOOP if loop[name] is not None}
        for loop in result["loops"]
    }
    expect["steps"] = {key: {"calls": count} for key, count in counts.items()}
    test: dict[str, Any] = {"inputs": shown(first).get("input"), "mocks": mocks}
    test["expect"] = {key: value for key, value in expect.items() if value}
    test |= {"max_iterations": first.body["iterations"]} if first.body.get("iterations") else {}
    whole = {"whorl_tests": FORMAT, "workflow": workflow, "tests": {name: test}}
    return _written(whole)


def _written(value: dict[str, Any]) -> str:
    """YAML with texts of several lines as they are."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Has a way of its own to write texts."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def _is_answered(record: dict[str, Any]) -> bool:
    """Whether somebody outside, or a person, gave what the step gave."""
    inner = record["address"].rpartition("/")[2].startswith(":") and record["kind"] != "judge"
    return record["kind"] not in COMPUTING and record["status"] in _ENDED and not inner


def _mocks(
    records: list[dict[str, Any]], steps: list[Step], *, has_usage: bool
) -> tuple[dict[str, Json], dict[str, int]]:
    """The mocks by key, and how often each step was called."""
    answers: dict[str, list[Json]] = {}
    counts: dict[str, int] = {}
    for record in records:
        key, is_gate = _key(record["address"], steps), record["kind"] == "gate"
        answers.setdefault(key, []).append(_answer(record, has_usage=has_usage and not is_gate))
        if not is_gate:
            counts[key] = counts.get(key, 0) + 1
    return {
        key: listed if len(listed) > 1 else listed[0] for key, listed in answers.items()
    }, counts


def _key(address: str, steps: list[Step]) -> str:
    """The shortest key that means one step; of one in a list of items, its address."""
    parts = parts_of(address)
    # Names are escaped in addresses, but a name alone is written as it is.
    escaped = [re.sub(r"(\[[0-9]+\])?(#[0-9]+)?$", "", text) for text in address.split("/")]
    around = {step.names[-1][0]: step.node for step in steps if step.node is not None}
    if any(isinstance(around.get(part.name), ir.ForEach) and part.number for part in parts):
        return address
    for count in range(1, len(parts) + 1):
        text = "/".join(escaped[-count:])
        key = Key(text, parts_of(text))
        if len({step.names for step in steps if key.means(step)}) == 1:
            return text if count > 1 else parts[-1].name
    return address


def _answer(record: dict[str, Any], *, has_usage: bool) -> Json:
    answer: dict[str, Json] = {}
    if record["output"] is not None:
        answer["outputs"] = record["output"]
    if record["status"] == "timed_out":
        answer["status"] = "timed_out"
    elif record["error"] is not None:
        error = record["error"].get("cause") or record["error"]
        answer["error"] = {
            name: error[name] for name in ("code", "message", "status") if name in error
        }
    names = ("calls", "input_tokens", "output_tokens", "cost_usd")
    if has_usage and record["usage"]["calls"]:
        answer["usage"] = {name: record["usage"][name] for name in names}
    return answer or {"outputs": None}
