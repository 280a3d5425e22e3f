"""The steps of a workflow that is written in Python, besides functions: models, people, the web."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast, overload

from whorl.interfaces.python.values import schema_of
from whorl.interfaces.python.writing.flow import assigned_name, needed
from whorl.interfaces.python.writing.functions import StepOptions, options_of
from whorl.interfaces.python.writing.workflows import Step
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

T = TypeVar("T")


class ModelOptions(StepOptions, total=False):
    """What a step that asks a model takes."""

    model: str | Sequence[str]
    system: str
    temperature: float
    max_tokens: int
    max_turns: int
    session: str
    images: object
    files: object


@dataclass(frozen=True)
class HttpReply:
    """What an `http` step gives."""

    status: int
    body: Any
    headers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CommandResult:
    """What a `command` step gives."""

    stdout: str
    stderr: str
    exit_code: int


@dataclass(frozen=True)
class Decision:
    """The answer of a person."""

    approved: bool
    feedback: str


class HttpOptions(StepOptions, total=False):
    """What an `http` step takes beside its URL."""

    method: str
    headers: Mapping[str, object]
    query: Mapping[str, object]
    body: object
    accept_status: object
    key: str


class CommandOptions(StepOptions, total=False):
    """What a `command` step takes beside the command."""

    folder: str
    env: Mapping[str, object]
    stdin: object
    check: bool


class GateOptions(TypedDict, total=False):
    """What an `approve` step takes beside the question."""

    name: str
    show: object
    timeout: str
    on_timeout: str
    on_reject: str


@overload
def ask(
    prompt: str,
    *,
    returns: type[T],
    tools: Sequence[str | Callable[..., object]] = (),
    **options: Unpack[ModelOptions],
) -> T: ...


@overload
def ask(
    prompt: str,
    *,
    tools: Sequence[str | Callable[..., object]] = (),
    **options: Unpack[ModelOptions],
) -> str: ...


def ask(
    prompt: str,
    *,
    returns: Any = str,
    tools: Sequence[str | Callable[..., object]] = (),
    **options: Any,
) -> Any:
    """Asks a model. `returns` is the type of the answer, which is checked; `tools` are MCP servers,
    tasks by name, and functions that the model may call."""
    fields: dict[str, Any] = {"ask": prompt}
    if returns is not str:
        fields["returns"] = {"schema": schema_of(returns, "`returns`")}
    if tools:
        fields["tools"] = [_tool(tool) for tool in tools]
    return _add("ask", fields, returns, options)


def agent(
    agent: str, prompt: str, *, returns: Any = str, folder: str = "", **options: Unpack[StepOptions]
) -> Any:
    """Runs an agent's command line: claude-code, codex, gemini, or one of the configuration."""
    fields: dict[str, Any] = {"agent": agent, "prompt": prompt}
    if returns is not str:
        fields["returns"] = {"schema": schema_of(returns, "`returns`")}
    return _add("agent", fields | ({"folder": folder} if folder else {}), returns, options)


def http(url: str, **options: Unpack[HttpOptions]) -> HttpReply:
    """Calls a URL; `body` is sent as JSON."""
    own = ("method", "headers", "query", "body", "accept_status", "key")
    request = {name: options.pop(name) for name in own if name in options}  # type: ignore[misc]
    return cast("HttpReply", _add("http", {"http": {"url": url, **request}}, HttpReply, options))


def command(words: Sequence[object] | str, **options: Unpack[CommandOptions]) -> CommandResult:
    """Runs a command, if the configuration permits it: a list of words, or a shell script."""
    given = words if isinstance(words, str) else list(words)
    return cast("CommandResult", _add("command", {"run": given}, CommandResult, options))


def tool(name: str, /, **arguments: object) -> Any:
    """Calls a tool of an MCP server: `whorl.tool("search/find", query=topic)`."""
    server, _, called = name.partition("/")
    inputs = {"server": server, "tool": called, "arguments": arguments}
    return _add("tool", {"task": {"kind": "tool", "inputs": inputs}}, Any, {})


def approve(message: str, **options: Unpack[GateOptions]) -> Decision:
    """Asks a person; the run waits, for days if needed, and uses no memory while it waits."""
    name = {"name": options.pop("name")} if "name" in options else {}
    return cast(
        "Decision", _add("approve", {"approve": {"message": message, **options}}, Decision, name)
    )


def wait(duration: float | str, *, name: str = "") -> None:
    """Waits for a number of seconds, or for a duration such as `10m`."""
    given = duration if isinstance(duration, str) else f"{round(duration * 1000)}ms"
    _add("wait", {"wait": given}, Any, {"name": name})


def stop(message: str = "", *, failed: bool = False, output: object = None) -> None:
    """Ends the run. Use it in a `whorl.when`."""
    end = {"status": "failed" if failed else "succeeded", "message": message}
    _add("stop", {"stop": end | ({} if output is None else {"output": output})}, Any, {})


def native(name: str = "", /, **fields: Any) -> Any:
    """Adds any step in the words of the native format: `whorl.native(set={"total": 0})`."""
    return _add("step", fields, Any, {"name": name})


def _add(kind: str, fields: dict[str, Any], gives: object, options: Mapping[str, Any]) -> Any:
    wish = options.get("name") or assigned_name(kind)
    return needed(kind).add(wish, fields | options_of(options), gives)


def _tool(given: str | Callable[..., object]) -> str:
    if isinstance(given, str):
        return given
    step = given if isinstance(given, Step) else Step(given)
    step.task.check()
    needed("ask").register(step.task)
    return step.task.name
