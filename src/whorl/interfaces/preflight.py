"""What is looked at before a run starts: leave for commands, models, the worst case in calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, UsageError
from whorl.ir import Constant, Expression, Fields, Items, Judge, Loop, Task, from_json, to_json
from whorl.ir.expressions import conditions_in
from whorl.ir.walk import walk, workflows_of
from whorl.ir.worst_case import PRICED, worst_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir import Value, Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Settings
    from whorl.providers.task import Request

COMMANDS = frozenset({"run", "agent", "javascript"})
TOY = (
    "no provider is configured, so the embedded toy model answers: fine for trying things out, "
    "useless as a judge"
)
_MODELS = frozenset({"ask", "judge"})
_NO_PROVIDER = "P110"
_CHOOSING = frozenset({"model", "provider", "model_url"})
_TYPICAL_LOOP = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """The most that a run can do: None where a value decides, or where no price is known."""

    calls: int | None
    cost_usd: float | None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A task that a model or an agent would be asked, with what is known of its inputs."""

    path: str
    kind: str
    inputs: dict[str, Json]
    times: int
    is_decided: bool = True


def refusal(workflow: Workflow, settings: Settings) -> dict[str, Json] | None:
    """Why the run may not start: a step runs a command, and the operator gave no leave."""
    allowed = settings.allow.commands
    for path, task in _tasks(workflow):
        for program, what in _started(task, settings):
            if allowed is True or (isinstance(allowed, tuple) and program in (*allowed, "")):
                continue
            named = f' or commands = ["{program}"]' if program else ""
            message = (
                f"commands are not allowed: step {task.name!r} would {what}; read the file, then "
                f"set [allow] commands = true{named} in whorl.toml"
            )
            return {"code": "R110", "message": message, "path": path}
        if task.kind == "javascript" and (why := _without_node(settings)):
            return {"code": "P109", "message": f"step {task.name!r}: {why}", "path": path}
    return None


def _started(task: Task, settings: Settings) -> Iterator[tuple[str, str]]:
    """The programs that a task starts, empty where a value decides, each with what it is."""
    if task.kind in COMMANDS:
        yield _program(task, settings), "run one"
    for name in _servers(task, settings):
        command = settings.mcp[name].command
        if command:
            yield command[0], f"start the MCP server {name!r}, which is one"


def _servers(task: Task, settings: Settings) -> list[str]:
    """The MCP servers that a task uses, as far as that is known before the run."""
    inputs = dict(task.inputs.entries)
    if task.kind == "tool":
        names = [_plain(inputs.get("server", Constant(None)))]
    elif task.kind == "ask":
        tools = _plain(inputs.get("tools", Constant(None)))
        names = tools if isinstance(tools, list) else [tools]
    else:
        return []
    texts = (name for name in names if isinstance(name, str) and name not in settings.tasks)
    found = (name.partition("/")[0] for name in texts)
    return [name for name in dict.fromkeys(found) if name in settings.mcp]


def _without_node(settings: Settings) -> str:
    """Why functions cannot run on this machine, though they may."""
    from whorl.providers.javascript import check_node

    try:
        check_node(settings)
    except ProviderError as fault:
        return str(fault)
    return ""


def check_models(workflow: Workflow, providers: Providers) -> None:
    """Refuses a run whose model steps name no provider that is configured."""
    for asked in _asked(workflow):
        if asked.kind not in _MODELS or not asked.is_decided:
            continue
        try:
            providers.kind(asked.kind).estimate(_request(asked))
        except ProviderError as fault:
            if fault.code != _NO_PROVIDER:
                continue
            raise UsageError(
                f"step {asked.path!r} has no model to ask: {fault}",
                help="`whorl doctor` shows what is configured",
                code=fault.code,
            ) from fault


def is_left_to_toy(workflow: Workflow, providers: Providers) -> bool:
    """Whether model steps are answered by the embedded model, since nothing is configured."""
    asked = any(one.kind in _MODELS for one in _asked(workflow))
    return asked and not providers.settings.providers


def scripted_by(workflow: Workflow, providers: Providers) -> str:
    """The provider whose canned replies stand in for a model, if the default one has such."""
    settings = providers.settings
    default = settings.providers.get(settings.default_provider)
    if default is None or default.kind != "scripted":
        return ""
    return default.name if any(one.kind in _MODELS for one in _asked(workflow)) else ""


def forecast(
    workflow: Workflow,
    providers: Providers,
    *,
    iterations: int | None = None,
    budget_usd: float | None = None,
) -> Forecast:
    """The worst case of a run, with all its limits."""
    if iterations is not None:
        workflow = _limited(workflow, iterations)
    calls = worst_case(workflow).calls
    budget = budget_usd if budget_usd is not None else workflow.limits.cost_usd
    if not calls:
        return Forecast(calls, None, budget)
    return Forecast(calls, _cost(workflow, providers, calls), budget)


def forecast_words(told: Forecast) -> str:
    """The worst case in words, or nothing when no call is priced."""
    if told.calls == 0:
        return ""
    budget = f"; the budget is ${told.budget_usd:.2f}" if told.budget_usd is not None else ""
    if told.calls is None:
        return f"the number of calls depends on the inputs{budget}"
    calls = f"at most {told.calls:,} call{'' if told.calls == 1 else 's'}"
    if told.cost_usd is None:
        return f"{calls}, of a price that is not known{budget}"
    return f"{calls}{f', about ${told.cost_usd:,.2f}' if told.cost_usd else ''}{budget}"


def _cost(workflow: Workflow, providers: Providers, calls: int) -> float | None:
    """The mean estimate of the steps, weighted by how often each can run, times all calls."""
    total, weight = 0.0, 0
    for asked in _asked(workflow):
        try:
            estimate = providers.kind(asked.kind).estimate(_request(asked))
        except (ProviderError, UsageError):
            return None
        if estimate.cost_usd is None:
            return None
        total += estimate.cost_usd * asked.times
        weight += asked.times
    return total / weight * calls if weight else None


def _request(asked: _Asked) -> Request:
    from whorl.providers.task import Request

    return Request("", asked.path, asked.kind, asked.inputs)


def _tasks(workflow: Workflow) -> Iterator[tuple[str, Task]]:
    for _, part in workflows_of(workflow):
        for path, node in walk(part.body):
            if isinstance(node, Task):
                yield path, node


def _asked(workflow: Workflow) -> Iterator[_Asked]:
    for _, part in workflows_of(workflow):
        defaults = {kind: _known(fields) for kind, fields in part.defaults}
        loops: dict[str, int] = {}
        for path, node in walk(part.body):
            times = 1
            for loop, iterations in loops.items():
                times *= iterations if path.startswith((f"{loop}/", f"{loop}@")) else 1
            if isinstance(node, Loop):
                limit = node.limits.iterations
                loops[path] = limit if isinstance(limit, int) else _TYPICAL_LOOP
                for judge in conditions_in(node.until):
                    if isinstance(judge, Judge):
                        inputs = defaults.get("judge", {}) | _judged(judge)
                        yield _Asked(path, "judge", inputs, times * loops[path] * judge.votes)
            elif isinstance(node, Task) and node.kind in PRICED:
                inputs = defaults.get(node.kind, {}) | _known(node.inputs)
                yield _Asked(path, node.kind, inputs, times, _names_its_model(node))


def _names_its_model(task: Task) -> bool:
    """Whether the model is known before the run, and not computed in it."""
    chosen = (value for name, value in task.inputs.entries if name in _CHOOSING)
    return all(isinstance(value, Constant) for value in chosen)


def _judged(judge: Judge) -> dict[str, Json]:
    inputs = _plain(judge.inputs)
    found: dict[str, Json] = dict(inputs) if isinstance(inputs, dict) else {}
    if judge.model:
        found["model"] = list(judge.model)
    return found | {"question": _plain(judge.question), "text": ""}


def _known(fields: Fields) -> dict[str, Json]:
    found = _plain(fields)
    assert isinstance(found, dict)
    return found


def _plain(value: Value) -> Json:
    """A value as far as it is known before the run; a template stands for its own text."""
    match value:
        case Constant():
            return value.value
        case Expression():
            return value.source
        case Items():
            return [_plain(item) for item in value.items]
        case Fields():
            return {k: _plain(v) for k, v in value.entries if isinstance(k, str)}


def _program(task: Task, settings: Settings) -> str:
    """The program that a command step starts; empty where a value decides."""
    inputs = dict(task.inputs.entries)
    if task.kind == "javascript":
        return "node"
    if task.kind == "agent":
        return _agent_program(inputs.get("agent"), settings)
    argv, shell = inputs.get("argv"), inputs.get("shell", Constant("sh"))
    first: Any = shell
    if argv is not None:
        items = argv.value if isinstance(argv, Constant) else _items(argv)
        first = items[0] if isinstance(items, list | tuple) and items else None
    if isinstance(first, Constant):
        first = first.value
    return first if isinstance(first, str) else ""


def _agent_program(agent: Value | None, settings: Settings) -> str:
    from whorl.providers.settings.agents import agents_from

    name = agent.value if isinstance(agent, Constant) else None
    known = {**agents_from({}, {}), **settings.agents}
    return known[name].program if isinstance(name, str) and name in known else ""


def _items(value: Value) -> tuple[Value, ...]:
    return value.items if isinstance(value, Items) else ()


def _limited(workflow: Workflow, iterations: int) -> Workflow:
    """The same workflow with another limit of iterations in all its loops."""
    limited = from_json(_limit(to_json(workflow), iterations))
    return replace(limited, name=workflow.name)


def _limit(part: Json, iterations: int) -> Json:
    if isinstance(part, list):
        return [_limit(item, iterations) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("is") == "LoopLimits":
        return part | {"iterations": iterations}
    return {key: _limit(item, iterations) for key, item in part.items()}
