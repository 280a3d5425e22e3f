"""Actions that reach outside: web services, models, functions of the operator, connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.durations import AZURE_RETRY
from whorl.dialects.loom.writing.times import retry_policy

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.here import Here

SAID = ("kind", "inputs", "secure", "secure_outputs")
_HTTP = {"url": "uri", "method": "method", "headers": "headers", "query": "queries", "body": "body"}
_ASK = {
    "prompt": "prompt",
    "system": "systemPrompt",
    "model": "model",
    "temperature": "temperature",
    "max_tokens": "maxTokens",
}
_ALWAYS = frozenset(("hide_reply",))

Inputs = dict[str, ir.Value]


def write_task(here: Here, node: ir.Task) -> dict[str, Any]:
    """The action of a task."""
    inputs = {key: value for key, value in node.inputs.entries if isinstance(key, str)}
    usual: ir.Retry | None = None
    match node.kind:
        case "http":
            usual = None if here.page.lenient else AZURE_RETRY
            action = _http(here, inputs)
        case "ask":
            action = _ask(here, node, inputs)
        case "use":
            action = _use(here, node, inputs)
        case "connector" if "input" in inputs:
            usual = None if here.page.lenient else AZURE_RETRY
            action = {
                "type": here.value(inputs.pop("type")),
                "inputs": here.value(inputs.pop("input")),
            }
            inputs.pop("action")
        case _:
            here.lose(f"a task of kind {node.kind!r}", "the format has no action of that kind")
            return {"type": "Compose", "inputs": here.value(node.inputs)}
    for name in inputs.keys() - _ALWAYS:
        here.lose(f"the input {name!r} of the task", "an action of this type has no such setting")
    policy = retry_policy(here, node.retry, usual)
    if policy is not None:
        _add_policy(here, action, policy)
    _secure(node, action)
    return action


def _add_policy(here: Here, action: dict[str, Any], policy: Any) -> None:
    if here.page.lenient:
        action["retry"] = policy
    elif isinstance(action.get("inputs"), dict):
        action["inputs"] = action["inputs"] | {"retryPolicy": policy}
    else:
        action["retryPolicy"] = policy


def _secure(node: ir.Task, action: dict[str, Any]) -> None:
    has_keys = isinstance(action.get("inputs"), dict) and "authentication" in action["inputs"]
    listed = ["inputs"] if node.secure and not has_keys else []
    listed += ["outputs"] if node.secure_outputs else []
    if listed:
        config = action.setdefault("runtimeConfiguration", {})
        config["secureData"] = {"properties": listed}


def _http(here: Here, inputs: Inputs) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, theirs in _HTTP.items():
        if name in inputs:
            given[theirs] = here.value(inputs.pop(name))
    if "auth" in inputs:
        given["authentication"] = here.value(inputs.pop("auth"))
    action: dict[str, Any] = {"type": here.page.word("Http"), "inputs": given}
    polls = inputs.pop("poll", None)
    if polls is None and not here.page.lenient:
        action["operationOptions"] = "DisableAsyncPattern"
    pages = inputs.pop("pages", None)
    if pages is not None:
        wanted = {"minimumItemCount": here.value(pages)}
        action["runtimeConfiguration"] = {"paginationPolicy": wanted}
    return action


def _ask(here: Here, node: ir.Task, inputs: Inputs) -> dict[str, Any]:
    if not here.page.is_own:
        here.lose("an answer that is a text", "an answer that is JSON is read as JSON there")
    given = {
        theirs: here.value(inputs.pop(name)) for name, theirs in _ASK.items() if name in inputs
    }
    if "prompt" not in given:
        here.lose("a question without a prompt", "an action of this type has one")
        given["prompt"] = "?"
    return {"type": here.page.word("Ai"), "inputs": given}


def _use(here: Here, node: ir.Task, inputs: Inputs) -> dict[str, Any]:
    task, given = inputs.pop("task"), inputs.pop("with", ir.Fields())
    kind, name = _operator_task(here, task)
    said: dict[str, Any] = {f"{kind}Type": name}
    entries = dict(given.entries) if isinstance(given, ir.Fields) else {}
    if set(entries) == {"input"}:
        said["input"] = here.value(entries["input"])
    elif entries or not here.page.is_own:
        here.lose("what a function is given", "a function gets one argument, `input`, there")
        said["input"] = here.value(given)
    return {"type": here.page.word(kind), "inputs": said}


def _operator_task(here: Here, task: ir.Value) -> tuple[str, str]:
    if isinstance(task, ir.Constant) and isinstance(task.value, str):
        kind, mark, name = task.value.partition(":")
        if mark and kind in ("actor", "activity"):
            return kind, name
        here.lose(f"the task {task.value!r}", "functions are called activity:NAME or actor:NAME")
        return "activity", task.value
    source = task.source if isinstance(task, ir.Expression) else ""
    for kind in ("actor", "activity"):
        head = f"@concat('{kind}:', "
        if source.startswith(head) and source.endswith(")"):
            return kind, f"@{source[len(head) : -1]}"
    here.lose("a function that is chosen by an expression", "its name begins with its kind")
    return "activity", source
