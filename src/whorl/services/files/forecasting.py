"""Forecasts a run before it starts: its effects, its models, its cost."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, UsageError
from whorl.ir import Constant, Expression, Fields, Items, Judge, Loop, Task
from whorl.ir.expressions import conditions_in, expressions_in
from whorl.ir.walk import walk, with_all_nodes, workflows_of
from whorl.ir.worst_case import PRICED, Priced, worst_case
from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Node, Value, Workflow
    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate
    from whorl.providers.registry import Providers
    from whorl.providers.settings import AgentSettings, Settings
    from whorl.providers.task import Request


# What a workflow would read, write, run and call, as far as that is known before it runs.

COMMANDS = frozenset({"run", "agent", "javascript"})
MAKE_NO_FILES = frozenset({"ask", "judge", "http", "file_read", "file_glob", "memory"})
_LENGTH_MAX = 80
# The host of a text that is an address up to its first computed part.
_HOST = regex(r"https?://[^/?#{}\s]+(?=[/?#]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Effects:
    """Files, programs and hosts, each once; words instead of a name that a value decides."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def effects_of(
    workflow: Workflow, settings: Settings, asked: Iterable[Request], included: Iterable[str] = ()
) -> Effects:
    """Returns the effects of a workflow; `asked` are its model requests, `included` other files."""
    reads = dict.fromkeys(included)
    writes: dict[str, None] = {}
    runs: dict[str, None] = {}
    models = _models(settings, (each for each in asked if each.kind in MODELS))
    calls = dict.fromkeys(filter(None, (_host(model.provider.base_url) for model in models)))
    for _, task in tasks_of(workflow):
        reads |= dict.fromkeys(name or "files whose names are computed" for name in _read_by(task))
        if task.kind == "file_write":
            writes[_known(task, "path") or "a path that is computed"] = None
        runs |= dict.fromkeys(_programs(task, settings))
        calls |= dict.fromkeys(_hosts(task, settings))
    # Tasks beside the steps: for triggers, and to unsubscribe.
    requests = [task.unsubscribe for _, task in tasks_of(workflow)]
    requests += [part.trigger.poll for _, part in workflows_of(workflow) if part.trigger]
    for request in requests:
        fields = dict(request.entries) if isinstance(request, Fields) else {}
        kind, inputs = fields.get("kind"), fields.get("inputs")
        if isinstance(kind, Constant) and isinstance(inputs, Fields):
            beside = Task(name="", kind=str(kind.value), inputs=inputs)
            calls |= dict.fromkeys(_hosts(beside, settings))
    return Effects(tuple(reads), tuple(writes), tuple(runs), tuple(calls))


def named_in(workflow: Workflow, settings: Settings) -> tuple[list[str], list[str]]:
    """Returns the MCP servers that a workflow names, and the keys that its calls need."""
    servers: dict[str, None] = {}
    keys: dict[str, None] = {}
    for _, task in tasks_of(workflow):
        if task.kind == "tool":
            servers[_known(task, "server") or "a server that is computed"] = None
        if task.kind == "http" and (name := _known(task, "key")):
            keys[name] = None
    asked = [request for request, _ in asked_in(workflow) if request.kind in MODELS]
    for request in asked:
        tools = request.inputs.get("tools")
        names = [str(tool).partition("/")[0] for tool in (tools if isinstance(tools, list) else ())]
        servers |= dict.fromkeys(name for name in names if name not in settings.tasks)
    for model in _models(settings, asked):
        if model.provider.key_variable or model.provider.api_key:
            keys[model.provider.key_variable or f"api_key of {model.provider.name}"] = None
    return list(servers), list(keys)


def refused_writes(task: Task, settings: Settings) -> str:
    """Returns why a task may not write its file, or "" if it may or a value decides the name."""
    from whorl.providers.files import FileRights

    try:
        if task.kind == "file_write" and (path := _known(task, "path")):
            FileRights.of(settings).resolve(path, "write")
    except ProviderError as fault:
        return str(fault)
    return ""


def refused_reads(
    task: Task, settings: Settings, *, is_final: bool = False
) -> Iterator[tuple[str, str]]:
    """Yields a code and a reason for each file that a task names but cannot read.

    With `is_final`, a file that is missing now will also be missing later.
    """
    from whorl.providers.files import FileRights

    for written in (name for name in _read_by(task) if name and task.kind != "file_glob"):
        try:
            FileRights.of(settings).check(written, is_final=is_final)
        except ProviderError as fault:
            yield fault.code, str(fault)


def _read_by(task: Task) -> Iterator[str]:
    """Yields the files that a task reads, "" if a value decides."""
    inputs = dict(task.inputs.entries)
    if task.kind == "file_glob":
        parts = [inputs.get(name) for name in ("folder", "pattern")]
        is_known = all(part is None or isinstance(part, Constant) for part in parts)
        folder, pattern = _known(task, "folder") or ".", _known(task, "pattern") or "*"
        yield f"{folder}/{pattern}".removeprefix("./") if is_known else ""
    fields = {"file_read": ("path",), "ask": ("files", "images")}.get(task.kind, ())
    named = [inputs[field] for field in fields if field in inputs]
    for value in (v for each in named for v in (each.items if isinstance(each, Items) else [each])):
        if isinstance(value, Constant):
            known = value.value if isinstance(value.value, list) else [value.value]
            yield from (name for name in known if isinstance(name, str) and name)
        else:
            yield ""


def started(task: Task, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields the programs that a task starts, "" if a value decides, each with its kind."""
    if task.kind in COMMANDS:
        yield _program(task, settings), "run one"
    for name in _servers(task, settings):
        if command := settings.mcp[name].command:
            yield command[0], f"start the MCP server {name!r}, which is one"


def missing_programs(task: Task, settings: Settings) -> Iterator[str]:
    """Yields the programs that a task starts by name but that are not installed."""
    from shutil import which

    path = settings.environment.get("PATH")
    for program, _ in started(task, settings) if "env" not in dict(task.inputs.entries) else ():
        is_relative = program[:1] == "." or (os.sep in program and not os.path.isabs(program))
        if program and not is_relative and which(program, path=path) is None:
            yield program


def tasks_of(workflow: Workflow) -> Iterator[tuple[str, Task]]:
    """Yields the tasks of a workflow and of the workflows that it calls, with their paths."""
    for _, part in workflows_of(workflow):
        yield from ((path, node) for path, node in walk(part.body) if isinstance(node, Task))


def _plain(value: Value | None) -> Json:
    """Returns a value as far as it is known before the run; for a template, its text."""
    match value:
        case None:
            return None
        case Constant():
            return value.value
        case Expression():
            return value.source
        case Items():
            return [_plain(item) for item in value.items]
        case Fields():
            return {k: _plain(v) for k, v in value.entries if isinstance(k, str)}


def _servers(task: Task, settings: Settings) -> list[str]:
    """Returns the MCP servers that a task uses, as far as that is known before the run."""
    inputs = dict(task.inputs.entries)
    names = _plain({"tool": inputs.get("server"), "ask": inputs.get("tools")}.get(task.kind))
    texts = [n for n in (names if isinstance(names, list) else [names]) if isinstance(n, str)]
    servers = [name.partition("/")[0] for name in texts if name not in settings.tasks]
    return [name for name in dict.fromkeys(servers) if name in settings.mcp]


def _programs(task: Task, settings: Settings) -> Iterator[str]:
    """Describes the programs of a task: a command line, a script, an agent, a function."""
    if task.kind in COMMANDS:
        argv = _plain(dict(task.inputs.entries).get("argv"))
        words = " ".join(map(str, argv)) if isinstance(argv, list) else _known(task, "script")
        yield _shown(words or _program(task, settings) or "a program that is computed")
    for name in _servers(task, settings):
        if command := settings.mcp[name].command:
            yield _shown(shlex.join(command))
    place = settings.tasks.get(_known(task, "task")) if task.kind == "use" else None
    if place is not None and place.startswith("python:"):
        yield _shown(place)


def address_in(task: Task) -> str:
    """Returns the address of an HTTP call up to its host, or "" if a value decides it."""
    return _up_to_host(_plain(dict(task.inputs.entries).get("url")))


def _up_to_host(url: Json) -> str:
    host = _HOST.match(url.strip()) if isinstance(url, str) else None
    return host[0] if host else ""


def _hosts(task: Task, settings: Settings) -> Iterator[str]:
    if task.kind == "use":
        yield from filter(None, [_host(settings.tasks.get(_known(task, "task")))])
    elif task.kind == "connector" and settings.connectors.url:
        yield _host(settings.connectors.url)
    elif task.kind in ("http", "connector"):
        asked: Json = _plain(task.inputs)
        if task.kind == "connector":
            asked = asked.get("call") if isinstance(asked, dict) else None
        if isinstance(asked, dict):
            yield _host(asked.get("url")) or "an address that is computed"
    for name in _servers(task, settings):
        yield from filter(None, [_host(settings.mcp[name].url)])


def _host(url: Json) -> str:
    """Returns the host of an address, with its port unless it is the usual one."""
    from whorl.providers.outbound.addresses import target_of

    try:
        return target_of(address).authority if (address := _up_to_host(url)) else ""
    except ProviderError:
        return ""


def _known(task: Task, name: str) -> str:
    value = dict(task.inputs.entries).get(name)
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else ""


def _shown(words: str) -> str:
    first = " ".join(words.split())
    return first if len(first) <= _LENGTH_MAX else f"{first[: _LENGTH_MAX - 3]}..."


def _program(task: Task, settings: Settings) -> str:
    """Returns the program that a command step starts, or "" if a value decides it."""
    if task.kind == "javascript":
        return "node"
    if task.kind == "agent":
        agent = agents_of(settings).get(_known(task, "agent"))
        return "" if agent is None else agent.program
    inputs = dict(task.inputs.entries)
    match inputs.get("argv"):
        case None:
            return _known(task, "shell") if "shell" in inputs else "sh"
        case Constant(value=[str(program), *_]) | Items(items=[Constant(value=str(program)), *_]):
            return program
    return ""


def agents_of(settings: Settings) -> dict[str, AgentSettings]:
    """Returns the configured agents, and the built-in ones that are known by name alone."""
    from whorl.providers.settings.sections import agents_from

    return {**agents_from({}, {}), **settings.agents}


MODELS = frozenset({"ask", "judge"})
_CHOOSING = frozenset({"model", "provider", "model_url"})


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a run, with None for numbers that depend on a value or an unknown price.

    `calls` is the maximum, `usual` counts each call once, without retries. `cost_usd` is expected.
    `bound_usd` is the maximum, if a budget or the limits of all calls bound it. `effects` names
    what it would read, write, run and call. `source` is what a program's numbers come from; they
    are no maximum then.
    """

    calls: int | None
    usual: int | None
    cost_usd: float | None
    budget_usd: float | None = None
    is_priced: bool = True
    has_tools: bool = False
    bound_usd: float | None = None
    effects: Effects = Effects()
    source: str = ""


def forecast(
    workflow: Workflow,
    providers: Providers,
    *,
    iterations: int | None = None,
    budget_usd: float | None = None,
    included: Iterable[str] = (),
) -> Forecast:

    def limited(node: Node) -> Node:
        if not isinstance(node, Loop) or iterations is None:
            return node
        return replace(node, limits=replace(node.limits, iterations=iterations))

    workflow = with_all_nodes(workflow, limited) if iterations is not None else workflow
    budget = budget_usd if budget_usd is not None else workflow.limits.cost_usd
    asked = [request for request, _ in asked_in(workflow)]
    all_known = True

    def price(of: Workflow, node: Task | Judge) -> Priced:
        nonlocal all_known
        found = _priced(of, node, providers)
        all_known &= found.cost_usd is not None
        return found

    worst = worst_case(workflow, price)
    cost, bound = (worst.cost_usd, worst.bound_usd) if asked else (None, None)
    if budget is not None and asked and all_known:
        cost = budget if cost is None else min(cost, budget)
        bound = budget if bound is None else min(bound, budget)
    return Forecast(
        calls=worst.calls,
        usual=worst.typical,
        cost_usd=cost,
        budget_usd=budget,
        is_priced=all_known,
        has_tools=any("tools" in task.inputs for task in asked),
        bound_usd=bound,
        # Whom the models of a file that is not trusted would ask is not known without it.
        effects=effects_of(
            workflow, providers.settings, () if providers.settings.untrusted else asked, included
        ),
    )


def _priced(workflow: Workflow, node: Task | Judge, providers: Providers) -> Priced:
    """Returns the expected cost of a step's answer, by the configured prices."""
    asked, _ = _asked_of(workflow, "", node)
    try:
        estimate = providers.kind(asked.kind).estimate(asked)
    except (ProviderError, UsageError):
        return Priced()
    is_fixed = False
    if isinstance(node, Task):
        # All that is sent is known before the run, and an agent's cost is limited.
        usual = [fields for kind, fields in workflow.defaults if kind == node.kind]
        named = [name for fields in (node.inputs, *usual) for name, _ in fields.entries]
        grows = node.session or (node.returns is not None and node.repairs) or "tools" in named
        is_open = any(True for fields in (node.inputs, *usual) for _ in expressions_in(fields))
        is_fixed = node.kind == "agent" or not (grows or is_open)
    is_most = estimate.cost_usd == 0 or (estimate.cap is None and is_fixed)
    return Priced(estimate.cost_usd, is_most)


def asks_models(workflow: Workflow) -> bool:
    return any(asked.kind in MODELS for asked, _ in asked_in(workflow))


def asked_in(workflow: Workflow) -> Iterator[tuple[Request, bool]]:
    """Yields all requests to models, agents and judges, and whether the model is known before."""
    for _, part in workflows_of(workflow):
        for path, node in walk(part.body):
            if isinstance(node, Loop):
                judges = (c for c in conditions_in(node.until) if isinstance(c, Judge))
                yield from (_asked_of(part, path, judge) for judge in judges)
            elif isinstance(node, Task) and node.kind in PRICED:
                yield _asked_of(part, path, node)


def _asked_of(workflow: Workflow, path: str, node: Task | Judge) -> tuple[Request, bool]:
    """Returns a request as far as it is known, and whether its model is known before the run."""
    from whorl.providers.task import Request

    kind = node.kind if isinstance(node, Task) else "judge"
    given: dict[str, Json] = {}
    for fields in (*(usual for name, usual in workflow.defaults if name == kind), node.inputs):
        values = _plain(fields)
        given |= values if isinstance(values, dict) else {}
    if isinstance(node, Judge):
        given |= {"model": list(node.model)} if node.model else {}
        given |= {"question": _plain(node.question), "text": ""}
        given |= {"reason": node.reason, "evidence": node.evidence}
        return Request("", path, kind, given), True
    chosen = (value for name, value in node.inputs.entries if name in _CHOOSING)
    is_decided = all(isinstance(value, Constant) for value in chosen)
    return Request("", path, kind, given), is_decided


def models_of(workflow: Workflow, settings: Settings) -> list[str]:
    """Returns the models that the steps of a workflow call, as far as known before a run."""
    asked = (each for each, is_known in asked_in(workflow) if is_known and each.kind in MODELS)
    return _named(_models(settings, asked))


def unpriced_models(workflow: Workflow, providers: Providers) -> list[str]:
    """Returns the models without a known price that the steps of a workflow call."""
    unpriced: list[Request] = []
    for request, _ in asked_in(workflow):
        with suppress(ProviderError, UsageError):
            if providers.kind(request.kind).estimate(request).cost_usd is None:
                unpriced.append(request)
    return _named(_models(providers.settings, unpriced))


def _named(models: Iterable[Candidate]) -> list[str]:
    return sorted({f"{model.provider.name}/{model.model}" for model in models})


def _models(settings: Settings, asked: Iterable[Request]) -> Iterator[Candidate]:
    """Yields the models that requests may be sent to; none if a request cannot be sent."""
    for request in asked:
        # It is loaded where a model is asked at all.
        from whorl.providers.models.client import choose_models

        with suppress(ProviderError):
            yield from choose_models(settings, request.inputs).candidates


def raises_limits(workflow: Workflow, budget_usd: float | None, iterations: int | None) -> bool:
    """Returns whether a run gets more budget, or a loop more iterations, than its file allows."""
    own = workflow.limits.cost_usd
    nodes = (node for _, part in workflows_of(workflow) for _, node in walk(part.body))
    limits = (node.limits.iterations for node in nodes if isinstance(node, Loop))
    # What is computed in the run is not known yet.
    most = min((n if isinstance(n, int) else 0 for n in limits), default=iterations or 0)
    return (iterations or 0) > most or (own is not None and (budget_usd or 0) > own)
