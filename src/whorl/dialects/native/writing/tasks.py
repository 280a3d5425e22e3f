"""Steps that are work: ask, agent, run, http and use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.writing.returns import write_returns
from whorl.dialects.native.writing.scripts import write_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.native.writing.here import Here

    Inputs = dict[str, ir.Value]

SAID = ("kind", "inputs", "returns", "session", "delivery", "secure", "secure_outputs")
_ASK = ("system", "model", "temperature", "max_tokens", "max_turns", "tools")
_AGENT = ("system", "model", "folder", "tools")
_RUN = ("folder", "env", "stdin", "check")
_HTTP = ("method", "url", "headers", "query", "body", "accept_status")
_TEXTS = frozenset(("prompt", "system", "agent", "folder", "method", "url"))


def write_task(here: Here, node: ir.Task) -> dict[str, Any]:
    """The fields of a task."""
    inputs = _inputs(here, node)
    write = _KINDS.get(node.kind)
    if write is None:
        here.lose(f"a task of kind {node.kind!r}", "the native format has no step of that kind")
        return {"use": node.kind, "with": here.value(node.inputs)}
    step = write(here, inputs)
    for name in inputs:
        here.lose(f"the input {name!r} of the task", f"{node.kind!r} has no field for it")
    return step | _common(here, node)


def _inputs(here: Here, node: ir.Task) -> Inputs:
    found: Inputs = {}
    for key, value in node.inputs.entries:
        if isinstance(key, str):
            found[key] = value
        else:
            here.lose(f"the computed input {key.source[:60]!r}", "inputs have plain names")
    _join_provider(found)
    return found


def _join_provider(inputs: Inputs) -> None:
    """A provider beside a model is written before it."""
    provider, model = inputs.get("provider"), inputs.get("model")
    if isinstance(provider, ir.Constant) and isinstance(model, ir.Constant):
        joined = model_name({"provider": provider.value, "model": model.value})
        if joined is not None:
            inputs["model"] = ir.Constant(joined)
            del inputs["provider"]
    elif isinstance(model, ir.Constant) and isinstance(model.value, list):
        names = [model_name(one) for one in model.value]
        if None not in names:
            inputs["model"] = ir.Constant(names)  # type: ignore[arg-type]


def model_name(said: object) -> str | None:
    """The name of a model, from a text or from an object with its provider; None if it has none."""
    if isinstance(said, str):
        return said
    if not isinstance(said, dict) or not isinstance(said.get("model"), str):
        return None
    provider = said.get("provider")
    return f"{provider}/{said['model']}" if isinstance(provider, str) else str(said["model"])


def _common(here: Here, node: ir.Task) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if node.returns is not None:
        found["returns"] = write_returns(node.returns)
        if node.kind in ("run", "http"):
            here.lose("'returns' of the task", f"{node.kind!r} has no typed answer")
            del found["returns"]
    if node.session and node.kind in ("ask", "agent"):
        found["session"] = node.session
    elif node.session:
        here.lose("'session' of the task", f"{node.kind!r} has no conversation")
    if node.delivery != "at_least_once":
        found["delivery"] = node.delivery
    if node.secure or node.secure_outputs:
        found["secure"] = True
    return found


def _given(here: Here, inputs: Inputs, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        if name in inputs:
            value = inputs.pop(name)
            found[name] = here.text(value) if name in _TEXTS else here.value(value)
    return found


def _ask(here: Here, inputs: Inputs) -> dict[str, Any]:
    prompt = inputs.pop("prompt", ir.Constant(""))
    return {"ask": here.text(prompt)} | _given(here, inputs, _ASK)


def _agent(here: Here, inputs: Inputs) -> dict[str, Any]:
    agent = inputs.pop("agent", ir.Constant(""))
    prompt = inputs.pop("prompt", ir.Constant(""))
    step = {"agent": here.text(agent), "prompt": here.text(prompt)}
    return step | _given(here, inputs, _AGENT)


def _http(here: Here, inputs: Inputs) -> dict[str, Any]:
    request = _given(here, inputs, _HTTP)
    return {"http": request["url"] if set(request) == {"url"} else request}


def _use(here: Here, inputs: Inputs) -> dict[str, Any]:
    task, given = inputs.pop("task", None), inputs.pop("with", ir.Fields())
    step: dict[str, Any] = {"use": here.value(task)}
    if not isinstance(task, ir.Constant) or not isinstance(task.value, str):
        here.lose("the task's name", "it must be a plain name")
        step["use"] = "unknown"
    written = here.value(given)
    if not isinstance(written, dict):
        here.lose("'with' of the task", "it must be an object with plain names")
    elif written:
        step["with"] = written
    return step


def _run(here: Here, inputs: Inputs) -> dict[str, Any]:
    step: dict[str, Any] = {"run": _command(here, inputs)}
    return step | _given(here, inputs, _RUN)


def _command(here: Here, inputs: Inputs) -> Any:
    if "argv" in inputs:
        return here.value(inputs.pop("argv"))
    script, variables = inputs.pop("script", None), inputs.pop("variables", ir.Fields())
    if not isinstance(script, ir.Constant) or not isinstance(variables, ir.Fields):
        here.lose("a command that is computed", "a command is a list, or a text with {{ }}")
        return "false"
    source = [_source(here, value) for _, value in variables.entries]
    written = write_script(str(script.value), source)
    if written is None:
        here.lose("values in a shell script", "they cannot be put back into their places")
        return str(script.value)
    return written


def _source(here: Here, value: ir.Value) -> str:
    said = here.computed(value)
    return str(said).removeprefix("{{").removesuffix("}}").strip()


_KINDS: dict[str, Callable[[Here, Inputs], dict[str, Any]]] = {
    "ask": _ask,
    "agent": _agent,
    "run": _run,
    "http": _http,
    "use": _use,
}
