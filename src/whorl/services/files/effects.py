"""What a workflow would read, write, run and call, as far as that is known before it runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError
from whorl.ir import Constant, Expression, Fields, Items, Task
from whorl.ir.walk import walk, workflows_of
from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Node, Value, Workflow
    from whorl.language import Json
    from whorl.providers.settings import Settings
    from whorl.providers.task import Request

COMMANDS = frozenset({"run", "agent", "javascript"})
_MAKE_NO_FILES = frozenset({"ask", "judge", "http", "file_read", "file_glob", "memory"})
COMPUTED_PATH = "a path that is computed"
COMPUTED_FILES = "files whose names are computed"
OWN_PATH = "the workspace of its run"
COMPUTED_PROGRAM = "a program that is computed"
COMPUTED_HOST = "an address that is computed"
_LENGTH_MAX = 80
# The host of a text that is an address up to its first computed part.
_HOST = regex(r"https?://[^/?#{}\s]+(?=[/?#]|$)", re.IGNORECASE)
# A path below the workspace, which no other value leads out of.
_OWN_PATH = regex(r"\{\{-?\s*workspace\s*-?\}\}/(?!.*(\.\.|\{[{%]|\\)).+")


@dataclass(frozen=True, slots=True)
class Effects:
    """Files, programs and hosts, each once; of what a value decides, words that say so."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def effects_of(
    workflow: Workflow, settings: Settings, asked: Iterable[Request], included: Iterable[str] = ()
) -> Effects:
    """What a workflow does outside: `asked` of models, with files `included` in its own."""
    reads = dict.fromkeys(included)
    writes: dict[str, None] = {}
    runs: dict[str, None] = {}
    calls = dict.fromkeys(host for request in asked for host in _asked_hosts(request, settings))
    for _, _, task in nodes_of(workflow):
        if not isinstance(task, Task):
            continue
        reads |= dict.fromkeys(name or COMPUTED_FILES for name in _read_by(task))
        if task.kind == "file_write":
            writes[_written(task)] = None
        runs |= dict.fromkeys(_programs(task, settings))
        calls |= dict.fromkeys(_hosts(task, settings))
        calls |= dict.fromkeys(_requested(task.unsubscribe, settings))
    for _, part in workflows_of(workflow):
        if trigger := part.trigger:
            for request in (trigger.poll, trigger.subscribe, trigger.unsubscribe):
                calls |= dict.fromkeys(_requested(request, settings))
    return Effects(tuple(reads), tuple(writes), tuple(runs), tuple(calls))


def refused_writes(task: Task, settings: Settings) -> str:
    """Why a task may not write the file that it names; nothing where it may, or a value decides."""
    written = _known(task, "path") if task.kind == "file_write" else ""
    if not written:
        return ""
    from whorl.providers.files.rights import FileRights

    try:
        FileRights.of(settings).resolve(written, "write")
    except ProviderError as fault:
        return str(fault)
    return ""


def may_make_files(workflow: Workflow) -> bool:
    """Whether a step could make a file that another one reads."""
    kinds = {task.kind for _, _, task in nodes_of(workflow) if isinstance(task, Task)}
    return not kinds <= _MAKE_NO_FILES


def refused_reads(
    task: Task, settings: Settings, *, is_final: bool = False
) -> Iterator[tuple[str, str]]:
    """The files that a task names and cannot read: a code, and why not, for each.

    With `is_final`, one that is not there now will not be there later.
    """
    from whorl.providers.files.rights import FileRights

    for written in (name for name in _read_by(task) if name and task.kind != "file_glob"):
        try:
            FileRights.of(settings).check(written, is_final=is_final)
        except ProviderError as fault:
            yield fault.code, str(fault)


def _read_by(task: Task) -> Iterator[str]:
    """The files that a task reads, empty where a value decides; those of its workspace are not."""
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
        elif not _is_own(value):
            yield ""


def started(task: Task, settings: Settings) -> Iterator[tuple[str, str]]:
    """The programs that a task starts, empty where a value decides, each with what it is."""
    if task.kind in COMMANDS:
        yield _program(task, settings), "run one"
    for name in _servers(task, settings):
        if command := settings.mcp[name].command:
            yield command[0], f"start the MCP server {name!r}, which is one"


def missing_programs(task: Task, settings: Settings) -> Iterator[str]:
    """The programs that a task starts by name and that are not here."""
    path = settings.environment.get("PATH")
    for program, _ in started(task, settings) if "env" not in dict(task.inputs.entries) else ():
        is_name = program and not program.startswith(".") and task.kind != "javascript"
        is_name = is_name and (os.sep not in program or os.path.isabs(program))
        if is_name and shutil.which(program, path=path) is None:
            yield program


def nodes_of(workflow: Workflow) -> Iterator[tuple[Workflow, str, Node]]:
    for _, part in workflows_of(workflow):
        for path, node in walk(part.body):
            yield part, path, node


def plain(value: Value) -> Json:
    """A value as far as it is known before the run; a template stands for its own text."""
    match value:
        case Constant():
            return value.value
        case Expression():
            return value.source
        case Items():
            return [plain(item) for item in value.items]
        case Fields():
            return {k: plain(v) for k, v in value.entries if isinstance(k, str)}


def _servers(task: Task, settings: Settings) -> list[str]:
    """The MCP servers that a task uses, as far as that is known before the run."""
    inputs = dict(task.inputs.entries)
    named: Any = {"tool": inputs.get("server"), "ask": inputs.get("tools")}.get(task.kind)
    names = None if named is None else plain(named)
    texts = [n for n in (names if isinstance(names, list) else [names]) if isinstance(n, str)]
    servers = [name.partition("/")[0] for name in texts if name not in settings.tasks]
    return [name for name in dict.fromkeys(servers) if name in settings.mcp]


def _programs(task: Task, settings: Settings) -> Iterator[str]:
    """The programs of a task in words: a command line, a script, an agent, a function."""
    if task.kind in COMMANDS:
        yield _shown(_command_words(task) or _program(task, settings) or COMPUTED_PROGRAM)
    for name in _servers(task, settings):
        if command := settings.mcp[name].command:
            yield _shown(shlex.join(command))
    place = settings.tasks.get(_known(task, "task")) if task.kind == "use" else None
    if place is not None and place.startswith("python:"):
        yield _shown(place)


def _command_words(task: Task) -> str:
    inputs = dict(task.inputs.entries)
    argv, script = inputs.get("argv"), inputs.get("script")
    if argv is not None:
        words = plain(argv)
        return " ".join(map(str, words)) if isinstance(words, list) else ""
    return str(plain(script)) if isinstance(script, Constant) else ""


def address_in(task: Task) -> str:
    """The address of an HTTP call up to its host; empty where a value decides that."""
    url = plain(dict(task.inputs.entries).get("url", Constant("")))
    host = _HOST.match(url.strip()) if isinstance(url, str) else None
    return host[0] if host else ""


def _hosts(task: Task, settings: Settings) -> Iterator[str]:
    if task.kind == "http":
        url = dict(task.inputs.entries).get("url", Constant(""))
        yield _host(plain(url)) or COMPUTED_HOST
    elif task.kind == "use":
        place = settings.tasks.get(_known(task, "task"), "")
        yield from filter(None, [_host(place)])
    elif task.kind == "connector" and settings.connectors.url:
        yield _host(settings.connectors.url)
    elif task.kind == "connector" and isinstance(
        call := dict(task.inputs.entries).get("call"), Fields
    ):
        yield _host(plain(dict(call.entries)["url"])) or COMPUTED_HOST
    for name in _servers(task, settings):
        yield from filter(None, [_host(settings.mcp[name].url)])


def _requested(request: Value | None, settings: Settings) -> Iterator[str]:
    """The hosts of what is asked beside the steps: an object of the kind and inputs of a task."""
    fields = dict(request.entries) if isinstance(request, Fields) else {}
    kind, inputs = fields.get("kind"), fields.get("inputs")
    if isinstance(kind, Constant) and isinstance(inputs, Fields):
        yield from _hosts(Task(name="", kind=str(kind.value), inputs=inputs), settings)


def _asked_hosts(request: Request, settings: Settings) -> Iterator[str]:
    from whorl.providers.models.selection import choose_models

    if request.kind not in ("ask", "judge"):
        return
    try:
        candidates = choose_models(settings, request.inputs).candidates
    except ProviderError:
        return
    yield from filter(None, (_host(candidate.provider.base_url) for candidate in candidates))


def _host(url: Json) -> str:
    """The host that an address names, with its port unless it is the usual one."""
    from whorl.providers.outbound.addresses import target_of

    host = _HOST.match(url.strip()) if isinstance(url, str) else None
    try:
        return target_of(host[0]).authority if host else ""
    except ProviderError:
        return ""


def _written(task: Task) -> str:
    """The file that a task writes, in words where a value decides."""
    if _is_own(dict(task.inputs.entries).get("path")):
        return OWN_PATH
    return _known(task, "path") or COMPUTED_PATH


def _is_own(path: Value | None) -> bool:
    return isinstance(path, Expression) and _OWN_PATH.fullmatch(path.source.strip()) is not None


def _known(task: Task, name: str) -> str:
    value = dict(task.inputs.entries).get(name)
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else ""


def _shown(words: str) -> str:
    first = " ".join(words.split())
    return first if len(first) <= _LENGTH_MAX else f"{first[: _LENGTH_MAX - 3]}..."


def _program(task: Task, settings: Settings) -> str:
    """The program that a command step starts; empty where a value decides."""
    inputs = dict(task.inputs.entries)
    if task.kind == "javascript":
        return "node"
    if task.kind == "agent":
        from whorl.providers.settings.sections import agents_from

        agent = inputs.get("agent")
        name = agent.value if isinstance(agent, Constant) else None
        agents = {**agents_from({}, {}), **settings.agents}
        return agents[name].program if isinstance(name, str) and name in agents else ""
    argv = inputs.get("argv")
    first: Any = inputs.get("shell", Constant("sh"))
    if argv is not None:
        items: Any = argv.value if isinstance(argv, Constant) else ()
        items = argv.items if isinstance(argv, Items) else items
        first = items[0] if isinstance(items, list | tuple) and items else None
    if isinstance(first, Constant):
        first = first.value
    return first if isinstance(first, str) else ""
