"""Checks before a run starts: inputs, labels, permission for commands, models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, InvalidWorkflow, ProviderError, UsageError, did_you_mean
from whorl.ir import Constant, Loop
from whorl.ir.checks.structure import session_faults
from whorl.ir.walk import walk, workflows_of
from whorl.lazily import dataclass, regex
from whorl.providers.settings import permit_command
from whorl.services.configuration.trust import check_trusted
from whorl.services.files import forecasting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whorl.errors import Span
    from whorl.ir import Task, Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Settings
    from whorl.providers.task import Request
    from whorl.runtimes.start_options import Start


TOY = "no provider is configured; using the built-in toy model (for demos only)"
SCRIPTED = "no model is asked: the replies are scripted"
_NO_PROVIDER = "P110"
LESS = "give less of it; a step can read a larger file of the project"
LABELS_MAX = 20
MISSING_SHOWN = 10
LABEL_LENGTH_MAX = 200
_LABEL = regex(r"[A-Za-z0-9_.-]{1,60}")
# What experiments call the runs that they start.
EXPERIMENT_LABELS = ("experiment", "case", "variant", "repeat")


def check_given(
    workflow: Workflow, given: dict[str, Json], *, advice: str, has_options: bool = False
) -> None:
    """Refuses inputs that the workflow would refuse, before a run is made.

    With `has_options` the error names the command-line option that sets the value.
    """
    from whorl.interpreter.constructs.run import InputError, check_inputs
    from whorl.providers.redaction import HIDDEN

    try:
        check_inputs(workflow, given)
        secrets = [port.name for port in workflow.inputs if port.secret]
        if hidden := [name for name in secrets if given.get(name) == HIDDEN]:
            words = f"{HIDDEN!r} stands for the input {hidden[0]!r}, which is secret: give it again"
            raise InputError(words, hidden[0])
    except InputError as fault:
        option = f": `-i {fault.missing}=VALUE`" if has_options and fault.missing else ""
        raise UsageError(f"{fault}{option}", help=advice, code="R111") from fault


def check_size(given: dict[str, Json]) -> None:
    """Refuses an input with more values than a command accepts."""
    from whorl.source import VALUE_LIMITS

    for name, value in given.items():
        if _count(value) > VALUE_LIMITS.values_max:
            words = f"the input {name!r} holds more than {VALUE_LIMITS.values_max:,} values"
            raise UsageError(words, help=LESS, code="R111")


def _count(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, inner))


def check_labels(labels: dict[str, str]) -> dict[str, str]:
    """Returns the labels that a person gives a run; refuses invalid and reserved names."""
    advice = "NAME=VALUE: a name of 1 to 60 letters, digits, '-', '_', '.', and a line of 1 to "
    advice += f"{LABEL_LENGTH_MAX} characters, such as team=red"
    if len(labels) > LABELS_MAX:
        raise UsageError(f"a run has at most {LABELS_MAX} labels, not {len(labels)}")
    for name, value in labels.items():
        is_line = 0 < len(value) <= LABEL_LENGTH_MAX and value.isprintable()
        if _LABEL.fullmatch(name) is None or not is_line:
            raise UsageError(f"{name[:80]!r} is not a label of a run", help=advice)
        if name in (*EXPERIMENT_LABELS, "mocked"):
            raise UsageError(f"the label {name!r} is only for runs of experiments and with mocks")
    return labels


def refusal(workflow: Workflow, settings: Settings) -> dict[str, Json] | None:
    """Returns why the run may not start: a step lacks the operator's permission."""
    missing = next(missing_permissions(workflow, settings), None)
    if missing is None:
        return None
    return {"code": missing.code, "message": missing.message, "path": missing.path}


def missing_permissions(workflow: Workflow, settings: Settings) -> Iterator[Unknown]:
    """Yields each missing permission; a line that permits a program repeats the ones before it."""
    allow, closed = settings.allow, set[str]()
    for path, task in forecasting.tasks_of(workflow):
        address = forecasting.address_in(task) if task.kind == "http" else ""
        for each in _closed_address(path, "calls", address, settings, closed):
            words = "calls an address that is not permitted" if task.secure else each.message
            yield replace(each, message=f"step {task.name!r} {words}")
        for program, what in forecasting.started(task, settings):
            allowed = allow.commands
            if allowed is True or (isinstance(allowed, tuple) and program in (*allowed, "")):
                continue
            words = f"commands are not allowed: step {task.name!r} would {what}; read the file, "
            words += f"then write {permit_command(allow, program)}"
            yield Unknown(path, "R110", words, f"command {program or 'of any name'}")
            known = allowed if isinstance(allowed, tuple) else ()
            allow = replace(allow, commands=(*known, program) if program else True)
        if words := forecasting.refused_writes(task, settings):
            yield Unknown(path, "P125", f"step {task.name!r}: {words}", "writing a file")


def check_allowed(workflow: Workflow, providers: Providers) -> None:
    check_trusted(providers.settings)
    refused = refusal(workflow, providers.settings)
    if refused is not None:
        raise UsageError(str(refused["message"]), code=str(refused["code"]))
    check_models(workflow, providers)


def check_performable(workflow: Workflow, providers: Providers) -> None:
    """Refuses to resume a run that needs a task, a model or a permission that is missing."""
    for path, task in forecasting.tasks_of(workflow):
        try:
            providers.kind(task.kind)
        except UsageError as fault:
            words = f"step {path!r}: {fault}"
            raise UsageError(words, help=fault.help, code=fault.code) from fault
    check_allowed(workflow, providers)


def check_models(workflow: Workflow, providers: Providers) -> None:
    """Refuses a run whose steps name something missing, before any call is paid.

    Checks models, tasks, agents, tools, keys, files, and addresses that are not permitted.
    """
    if missing := [*unknown_names(workflow, providers)]:
        words = [f"step {name.path!r} {name.message}" for name in missing[:MISSING_SHOWN]]
        words += [f"and {more} more"] if (more := len(missing) - MISSING_SHOWN) > 0 else []
        advice = "`whorl project doctor` shows what is configured"
        raise UsageError("; ".join(words), help=advice, code=missing[0].code)


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown name in a workflow.

    `is_named` says whether the file has the name or leaves the choice to the operator; `needs`
    says what is missing.
    """

    path: str
    code: str
    message: str
    needs: str
    is_named: bool = True


def unknown_names(workflow: Workflow, providers: Providers) -> Iterator[Unknown]:
    closed, settings = set[str](), providers.settings
    # Unless a step could create a file that another one reads.
    tasks = [*forecasting.tasks_of(workflow)]
    is_final = all(task.kind in forecasting.MAKE_NO_FILES for _, task in tasks)
    for asked, is_decided in forecasting.asked_in(workflow):
        if asked.kind in forecasting.MODELS and is_decided:
            named = bool(asked.inputs.get("model") or asked.inputs.get("provider"))
            try:
                providers.kind(asked.kind).estimate(asked)
            except ProviderError as fault:
                if fault.code == _NO_PROVIDER:
                    message = f"has no model to ask: {fault}"
                    yield Unknown(asked.address, fault.code, message, "a model", is_named=named)
            place, url = asked.address, asked.inputs.get("model_url")
            yield from _closed_address(place, "asks a model at", url, settings, closed)
        if asked.kind == "ask":
            yield from _unknown_tools(asked, providers)
    # The workers of a cluster have programs and modules of their own.
    is_local = settings.runtime.kind == "local"
    kinds = {name: agent.kind for name, agent in forecasting.agents_of(settings).items()}
    for _, part in workflows_of(workflow):
        for path, words, _ in session_faults(part.body, kinds):
            yield Unknown(path, "W007", words, "a session that can continue")
    for path, task in tasks:
        for program in forecasting.missing_programs(task, settings) if is_local else ():
            words = f"starts the program {program!r}, which is not installed here"
            yield Unknown(path, "P109", words, f"program {program}")
        yield from _unknown_name(path, task, providers)
        for code, why in forecasting.refused_reads(task, settings, is_final=is_final):
            yield Unknown(path, code, f"cannot read its file: {why}", "a file")


def _unknown_name(path: str, task: Task, providers: Providers) -> Iterator[Unknown]:
    """Yields the unconfigured agents, functions, keys and servers that a task names."""
    from whorl.providers.functions import has_module, how_to_give

    settings, functions = providers.settings, providers.context.functions
    tables: dict[str, tuple[str, str, str, Collection[str], str]] = {
        "agent": ("agent", "agent", "P113", forecasting.agents_of(settings), "[agents.{}]"),
        "use": ("task", "task", "P114", [*functions.names(), *settings.tasks], ""),
        "http": ("key", "key", "P116", settings.keys, "[keys.NAME] with its url and token"),
        "tool": ("server", "MCP server", "P120", settings.mcp, "[mcp.{}]"),
    }
    if task.kind not in tables:
        return
    field, what, code, known, section = tables[task.kind]
    value = dict(task.inputs.entries).get(field)
    name = value.value if isinstance(value, Constant) else None
    if not isinstance(name, str) or (task.kind == "use" and providers.context.plugin(name)):
        return
    words = ""
    place = settings.tasks.get(name, "") if task.kind == "use" else ""
    if name not in known:
        advice = f"add {section.format(name)} to whorl.toml" if section else how_to_give(name)
        near = did_you_mean(name, known)
        words = f"which is not known; {advice}{'; ' + near if near else ''}"
    elif task.kind == "http" and not settings.keys[name].headers:
        words = "which is empty: the variable that it names is not set"
    elif place.startswith("python:") and settings.runtime.kind == "local":
        words = "" if has_module(place, settings) else f"whose module is not there: {place!r}"
    if words:
        yield Unknown(path, code, f"uses the {what} {name!r}, {words}", f"{what} {name}")


def _closed_address(
    path: str, what: str, url: Json, settings: Settings, known: set[str]
) -> Iterator[Unknown]:
    """Yields each private address that a file names without permission, once.

    Without a DNS lookup, only numeric addresses and this machine are known to be private.
    """
    from whorl.providers.outbound.addresses import Policy, literal_of, target_of

    if not isinstance(url, str) or not url or url in known or "{" in url:
        return
    known.add(url)
    try:
        target = target_of(url)
        is_local = target.host == "localhost" or target.host.endswith(".localhost")
        address = "127.0.0.1" if is_local else str(literal_of(target.host) or "")
        policy = Policy.of(settings)
        if what == "calls":  # a step that calls may not go where the configuration's own calls may
            policy = replace(policy, origins=frozenset())
        policy.check_host(target.scheme, target.host, target.port)
        policy.check(target.scheme, target.host, target.port, [address] if address else [])
    except ProviderError as fault:
        yield Unknown(path, fault.code, f"{what} {url!r}: {fault}", f"address {url}")


def _unknown_tools(asked: Request, providers: Providers) -> Iterator[Unknown]:
    context = providers.context
    names = [*context.settings.mcp, *context.settings.tasks, *context.functions.names()]
    tools = asked.inputs.get("tools")
    for name in tools if isinstance(tools, list) else ():
        server = str(name).partition("/")[0]
        # A value that the run computes is in it as its own text.
        if not isinstance(name, str) or "{" in name or name in names or server in names:
            continue
        near = did_you_mean(server, names)
        words = f"offers the tool {name!r}, which is neither an MCP server nor a task; add "
        words += f"[mcp.{server}] or [tasks] {name} to whorl.toml{'; ' + near if near else ''}"
        yield Unknown(asked.address, "P113", words, f"MCP server {server}")


def permitted(workflow: Workflow, providers: Providers, start: Start) -> tuple[Start, str]:
    """Returns the checked start of a run, and the stand-in that answers instead of a real model.

    Raises UsageError if a step names something unconfigured, if an input file cannot be read, or if
    the configuration is not trusted. A run without the operator's permission is also created, and
    ends with the refusal.
    """
    check_trusted(providers.settings)
    refused = refusal(workflow, providers.settings)
    if refused is not None:
        return replace(start, refused=refused), ""
    check_models(workflow, providers)
    settings = providers.settings
    for port in workflow.inputs if settings.runtime.kind == "local" else ():
        from whorl.providers.files import FileRights

        given = start.input.get(port.name) if port.type in ("file", "files") else None
        for name in given if isinstance(given, list) else [given]:
            if isinstance(name, str) and name and "://" not in name:
                try:
                    FileRights.of(settings).check(name)
                except ProviderError as fault:
                    raise UsageError(f"input {port.name!r}: {fault}", code="R111") from fault
    at_once = limit_of(workflow, settings)
    return replace(start, at_once=at_once), stand_in(workflow, settings)


def limit_of(workflow: Workflow, settings: Settings) -> int | None:
    """Returns the limit of concurrent runs of a workflow: the operator's or its file's, or None."""
    own = workflow.trigger.concurrency if workflow.trigger is not None else None
    limit = settings.queue.get(workflow.name, settings.queue.get("*"))
    return min(own, limit) if own and limit else own or limit


def stand_in(workflow: Workflow, settings: Settings) -> str:
    """Returns the stand-in that answers if no real model is called, or ""."""
    asked = [each for each in forecasting.asked_in(workflow) if each[0].kind in forecasting.MODELS]
    if not asked or not any(one.kind == "scripted" for one in settings.providers.values()):
        return TOY if asked and not settings.providers else ""
    from whorl.providers.models.client import choose_models

    kinds: set[str] = set()
    for request, is_decided in asked:
        named = request.inputs
        if request.kind == "judge" and not named.get("model"):
            named = {"model": settings.judge_model}
        chosen = choose_models(settings, named).candidates if is_decided else ()
        kinds |= {one.provider.kind for one in chosen} or {""}
    return SCRIPTED if kinds == {"scripted"} else ""


def loops_of(workflow: Workflow) -> Iterator[tuple[str, Loop]]:
    yield from ((path, node) for path, node in walk(workflow.body) if isinstance(node, Loop))


def find_loop(workflow: Workflow, name: str, span: Span | None = None) -> Loop:
    """Returns the loop of a name or path; without one, the only loop or the first outermost."""
    loops = dict(loops_of(workflow))
    found = [loop for path, loop in loops.items() if name in (path, loop.name, "")]
    if not found:
        words = f"workflow {workflow.name!r} has no loop {name!r}" if name else "there is no loop"
        advice = did_you_mean(name, list(loops)) or f"its loops: {', '.join(loops) or 'none'}"
        raise InvalidWorkflow([Diagnostic("W005", words, span, help=advice)])
    return found[0]


def not_explored(workflow: Workflow, name: str) -> str:
    """Returns why a loop cannot be explored, or ""."""
    loop = find_loop(workflow, name)
    limits, around = loop.limits, (other for _, other in loops_of(workflow) if other is not loop)
    inside = [o.name for o in around if any(node is loop for _, node in walk(o.body))]
    if inside:
        return f"loop {name!r} is inside loop {inside[0]!r}: only outermost loops are explored"
    if any(fact == "limit" for _, fact in loop.facts):
        why = "a higher limit would change their results"
        return f"steps of {name!r} read the loop's limit, so {why}"
    if loop.ask != "never" or loop.on_limit != "finish":
        return f"loop {name!r} asks a person, or fails or pauses at its limit"
    if any(value is not None for value in (limits.cost_usd, limits.tokens, limits.calls)):
        return f"loop {name!r} has a budget of its own; give it to the run instead"
    return ""
