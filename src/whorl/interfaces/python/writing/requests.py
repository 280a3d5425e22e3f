"""What a workflow requests while it runs: models, people, the web, commands, tools, time, dice.

Each name is a plain function that gives a coroutine, so that `asyncio.gather` and `create_task`
take it. What it requests has the name of the variable that is assigned.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload
from uuid import UUID

from whorl.errors import UsageError
from whorl.interfaces.python.values import from_json, plain_value, schema_of
from whorl.interfaces.python.writing.functions import TaskFunction
from whorl.interfaces.python.writing.names import name_of_call
from whorl.ir.values import parse_duration
from whorl.lazily import dataclass
from whorl.runtimes.host import current

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from whorl.language import Json
    from whorl.runtimes.host import Place

T = TypeVar("T")
Delivery: TypeAlias = Literal["at_least_once", "at_most_once", "ask"]
# Seconds, or a text such as `10m`.
Duration: TypeAlias = "float | str | timedelta"


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, how long apart and after which faults a request is tried again.

    `on` holds codes, HTTP statuses as text, or words such as `timeout`.
    """

    times: int
    wait: float = 1.0
    backoff: float = 2.0
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run or a loop may spend."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


@dataclass(frozen=True)
class HttpReply:
    """What `whorl.http` gives."""

    status: int
    body: Any
    headers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CommandResult:
    """What `whorl.command` gives."""

    stdout: str
    stderr: str
    exit_code: int


@dataclass(frozen=True)
class Decision:
    """The answer of a person; `value` is what they made of what was shown, if they edited it."""

    approved: bool
    feedback: str
    value: Any = None


def place_of(what: str) -> Place:
    """Returns where the code is; raises UsageError if it is not in a workflow."""
    place = current.get(None)
    if place is None:
        advice = "write it in a function with @whorl.workflow"
        raise UsageError(f"whorl.{what} is used outside of a workflow", help=advice)
    return place


def seconds_of(given: Duration | None, what: str) -> float | None:
    """Returns seconds; raises UsageError for anything else."""
    if given is None:
        return None
    try:
        return parse_duration(given.total_seconds() if isinstance(given, timedelta) else given)
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"{what} is {given!r:.80}, which is not a duration", code="W007") from None


@lru_cache(maxsize=4_096)
def _task(
    kind: str,
    returns: Any = None,
    *,
    retry: int | Retry | None = None,
    timeout: Any = None,
    delivery: str = "",
    session: str = "",
) -> dict[str, Json]:
    """Returns the node of a task, with what is not as usual."""
    node: dict[str, Json] = {"is": "Task", "kind": kind}
    if returns is not None:
        node["returns"] = schema_of(returns, "`returns`")
    if retry is not None:
        policy = Retry(retry) if isinstance(retry, int) else retry
        again: dict[str, Json] = {"is": "Retry", "times": policy.times, "wait_s": policy.wait}
        node["retry"] = again | {"backoff": policy.backoff, "on": [*policy.on]}
    if timeout is not None:
        node["timeout_s"] = seconds_of(timeout, "timeout")
    if delivery and delivery != "at_least_once":
        node["delivery"] = delivery
    if session:
        node["session"] = session
    return node


def task_node(kind: str, returns: Any = None, **options: Any) -> dict[str, Json]:
    retry = options.get("retry")
    if isinstance(retry, Mapping):
        options["retry"] = Retry(**{**retry, "on": tuple(retry.get("on", ()))})
    try:
        return _task(kind, returns, **options)
    except TypeError:
        # A type that cannot be hashed.
        return _task.__wrapped__(kind, returns, **options)


async def request(place: Place, wish: str, node: Any, extra: Any, kind: Any = Any) -> Any:
    """Requests a node; returns its value as the type."""
    inputs = plain_value({name: v for name, v in extra.items() if v is not None}, wish)
    body = await place.host.ask(place, wish, node, inputs).future
    return body.get("value") if kind is Any else from_json(kind, body.get("value"))


@overload
def ask(
    prompt: str,
    *,
    returns: type[T],
    tools: Sequence[str | Callable[..., object]] = (),
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    max_turns: int | None = None,
    images: object = None,
    files: object = None,
    session: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
) -> Coroutine[None, None, T]: ...


@overload
def ask(
    prompt: str,
    *,
    returns: None = None,
    tools: Sequence[str | Callable[..., object]] = (),
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    max_turns: int | None = None,
    images: object = None,
    files: object = None,
    session: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
) -> Coroutine[None, None, str]: ...


def ask(
    prompt: str,
    *,
    returns: Any = None,
    tools: Sequence[str | Callable[..., object]] = (),
    session: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    **given: Any,
) -> Coroutine[None, None, Any]:
    """Asks a model. `returns` is the type of its answer, which is checked; without it, a text.

    `tools` are functions with @whorl.step, names of tasks, and tools of MCP servers such as
    `search/find`. Requests of the same `session` are one conversation.
    """
    place = place_of("ask")
    check_options("ask", given, OPTIONS)
    kind = str if returns is None else returns
    node = task_node(
        "ask", None if kind is str else kind, retry=retry, timeout=timeout, session=session
    )
    extra = {"prompt": prompt, **given, "tools": [_tool(place, tool) for tool in tools] or None}
    return request(place, name or name_of_call("ask"), node, extra, kind)


OPTIONS = ("model", "system", "max_tokens", "temperature", "max_turns", "images", "files")
_ALWAYS = ("returns", "tools", "session", "name", "retry", "timeout")


def check_options(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuses an option that there is not, with the nearest name."""
    from whorl.errors import did_you_mean

    for name in given:
        if name not in known:
            hint = did_you_mean(name, (*known, *_ALWAYS))
            raise UsageError(f"whorl.{what} has no option {name!r}{hint and f': {hint}'}")


def _tool(place: Place, given: str | Callable[..., object]) -> str:
    if isinstance(given, str):
        return given
    task = getattr(given, "task", None)
    task = task if isinstance(task, TaskFunction) else TaskFunction(given)
    task.check()
    place.host.register(task.name, task.call, pure=task.pure)
    return task.name


def judge(
    question: str, about: object, *, votes: int = 1, model: str | None = None, name: str = ""
) -> Coroutine[None, None, bool]:
    """Asks a model a question about a text, which it answers with yes or no; a majority decides."""
    place, wish = place_of("judge"), name or name_of_call("judge")
    text = about if isinstance(about, str) else plain_value(about, "about")
    extra = {"question": question, "text": text, "model": model}

    async def vote() -> bool:
        yes = no = 0
        while yes * 2 <= votes and no * 2 < votes and yes + no < votes:
            answer = await request(place, wish, task_node("judge"), extra)
            is_yes = isinstance(answer, dict) and answer.get("verdict") == "met"
            yes, no = yes + is_yes, no + (not is_yes)
        return yes * 2 > votes

    return vote()


@overload
def agent(
    agent: str,
    prompt: str,
    *,
    returns: type[T],
    folder: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> Coroutine[None, None, T]: ...


@overload
def agent(
    agent: str,
    prompt: str,
    *,
    returns: None = None,
    folder: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> Coroutine[None, None, str]: ...


def agent(
    agent: str,
    prompt: str,
    *,
    returns: Any = None,
    folder: str = "",
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> Coroutine[None, None, Any]:
    """Runs an agent's command line: claude-code, codex, gemini, or one of the configuration."""
    kind = str if returns is None else returns
    options = {"retry": retry, "timeout": timeout, "delivery": delivery}
    node = task_node("agent", None if kind is str else kind, **options)
    extra = {"agent": agent, "prompt": prompt, "folder": folder or None}
    return request(place_of("agent"), name or name_of_call("agent"), node, extra, kind)


def http(
    url: str,
    *,
    method: str = "GET",
    query: Mapping[str, object] | None = None,
    headers: Mapping[str, object] | None = None,
    body: object = None,
    accept_status: object = None,
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> Coroutine[None, None, HttpReply]:
    """Calls a URL; `body` is sent as JSON."""
    node = task_node("http", retry=retry, timeout=timeout, delivery=delivery)
    extra = {"method": method, "url": url, "headers": headers, "query": query, "body": body}
    extra["accept_status"] = accept_status
    return request(place_of("http"), name or name_of_call("http"), node, extra, HttpReply)


def command(
    words: Sequence[object] | str,
    *,
    folder: str | None = None,
    env: Mapping[str, object] | None = None,
    stdin: object = None,
    check: bool = True,
    name: str = "",
    retry: int | Retry | None = None,
    timeout: Duration | None = None,
    delivery: Delivery = "at_least_once",
) -> Coroutine[None, None, CommandResult]:
    """Runs a command, if the configuration permits it: a list of words, or a shell script."""
    node = task_node("run", retry=retry, timeout=timeout, delivery=delivery)
    given = {"shell": words} if isinstance(words, str) else {"argv": list(words)}
    extra = {**given, "folder": folder, "env": env, "stdin": stdin, "check": check}
    wish = name or name_of_call("command")
    return request(place_of("command"), wish, node, extra, CommandResult)


def tool(server_tool: str, /, **arguments: object) -> Coroutine[None, None, Any]:
    """Calls a tool of an MCP server: `whorl.tool("search/find", query=topic)`."""
    server, _, called = server_tool.partition("/")
    extra = {"server": server, "tool": called, "arguments": arguments}
    return request(place_of("tool"), name_of_call(called or server), task_node("tool"), extra)


def approve(
    message: str,
    *,
    show: object = None,
    name: str = "",
    timeout: Duration | None = None,
    on_timeout: Literal["approve", "reject", "fail"] = "fail",
) -> Coroutine[None, None, Decision]:
    """Asks a person; the run waits, for days if needed, and uses no memory while it waits."""
    node: dict[str, Json] = {"is": "Gate", "message": _named("message"), "show": _named("show")}
    node |= {"timeout_s": seconds_of(timeout, "timeout"), "on_timeout": on_timeout}
    place, wish = place_of("approve"), name or name_of_call("approve")

    async def asked() -> Decision:
        extra = plain_value({"message": message, "show": show}, wish)
        body = await place.host.ask(place, wish, node, extra).future
        return Decision(**body["value"])

    return asked()


def _named(source: str) -> dict[str, Json]:
    return {"is": "Expression", "syntax": "jinja", "source": source}


def sleep(seconds: Duration, *, name: str = "") -> Coroutine[None, None, None]:
    """Waits for seconds or a duration such as `10m`, also if the process ends meanwhile."""
    node = {"is": "Wait", "duration": _named("s")}
    extra = {"s": seconds_of(seconds, "sleep")}
    return request(place_of("sleep"), name or "sleep", node, extra)


def value(make: Callable[[], T], name: str = "") -> Coroutine[None, None, T]:
    """Gives what a function makes, once: the run keeps it, and gives it again."""
    place, wish = place_of("value"), name or name_of_call("value")

    async def made() -> Any:
        task = f"value of {wish}"
        place.host.register(task, lambda: plain_value(make(), wish), pure=True)
        return await request(place, wish, task_node("use"), {"task": task})

    return made()


def now() -> datetime:
    """The time of the run: the same when the code begins again."""
    return datetime.fromtimestamp(place_of("now").host.loop.now, UTC)


def random() -> Random:
    """The dice of the run, which fall in the same way when the code begins again."""
    return place_of("random").random


def uuid() -> UUID:
    """An identifier that is new, and the same when the code begins again."""
    return UUID(int=place_of("uuid").random.getrandbits(128), version=4)
