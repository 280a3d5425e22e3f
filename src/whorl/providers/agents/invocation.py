"""What an agent is asked to do, read from a task's inputs: checked, and not yet a command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import ProviderError
from whorl.providers.json_values import clean
from whorl.providers.models.answers import correction_for, instruction_for
from whorl.providers.task import Inputs

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import AgentSettings
    from whorl.providers.task import Request

# A command line holds the system prompt of some programs, and Linux takes 128 KB for one word.
SYSTEM_BYTES_MAX = 100_000

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.:*-]{0,99}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,49}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One piece of work for an agent. Nothing in it but `prompt` and `system` can begin with `-`.

    `session` is a conversation to go on with; `wants_session` says that the next step will ask for
    one. `models` are tried in order. `schema` is what the answer must fit.
    """

    agent: str
    prompt: str
    system: str = ""
    models: tuple[str, ...] = ()
    folder: str = ""
    session: str = ""
    wants_session: bool = False
    max_turns: int | None = None
    max_cost_usd: float | None = None
    permission_mode: str = ""
    tools: tuple[str, ...] = ()
    schema: Json = None
    whole: bool = False

    def refuse(self, name: str, why: str) -> NoReturn:
        """Raises the error for an input that the agent's program cannot follow."""
        raise ProviderError(f"input {name!r} of task 'agent': {self.agent!r} {why}", code="P113")


@dataclass(frozen=True, slots=True)
class Launch:
    """What one start of a program is given.

    `agent` is what the operator configured; `session` is an id that nobody uses yet; `schema_file`
    holds the schema of the answer; `base_url` is the provider's address where that is not the
    usual one.
    """

    agent: AgentSettings
    session: str
    schema_file: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line, without any shell; the prompt is always on stdin, so it can be no flag."""

    argv: tuple[str, ...]
    stdin: str


@dataclass(slots=True)
class AgentOutput:
    """What a program has said so far. `ended` is true once it said that its work is over.

    `error` holds its own words for what went wrong, even where its exit code claims success.
    `cost_usd` is None where the program does not tell.
    """

    text: str = ""
    structured: Json = None
    session: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    error: str = ""
    status: int | None = None
    ended: bool = False
    detail: dict[str, Json] = field(default_factory=dict)


class EventReader:
    """Reads the events that a program prints in one run, one after the other."""

    def __init__(self) -> None:
        self.output = AgentOutput()

    def take(self, event: dict[str, Json]) -> str:
        """Takes in an event; gives the text in it that people should see now."""
        raise NotImplementedError


class AgentProgram:
    """One agent program: how it is started, and how its output is read.

    `package` is how people install it, `provider` the one whose key and address it is given,
    `takes_schema_file` whether it takes the schema of an answer in a file. `modes` are the
    permission modes in which it still asks, or refuses, before it runs commands; `prefixes` are
    the providers whose names its models may be written with. `lacks` are the inputs for which it
    has no flag, and `no_sessions` says why it cannot go on with a conversation.
    """

    kind = ""
    package = ""
    provider = ""
    takes_schema_file = False
    modes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ("max_turns", "max_cost_usd", "tools")
    lacks_because = "has no flag for it; leave it out"
    no_sessions = ""

    def command_line(self, invocation: Invocation, launch: Launch) -> CommandLine:
        """How it is started; raises ProviderError P113 for a wish that it cannot grant."""
        raise NotImplementedError

    def environment(self, key: str, base_url: str) -> dict[str, str]:
        """The variables that it needs beside PATH and HOME; both may be empty."""
        return {}

    def reader(self, invocation: Invocation) -> EventReader | None:
        """What reads its output; None when the output is the answer."""
        return None

    def check(self, invocation: Invocation) -> None:
        """Refuses the first wish that the program cannot grant."""
        if self.no_sessions and invocation.wants_session:
            invocation.refuse("session", self.no_sessions)
        for name in self.lacks:
            if getattr(invocation, "models" if name == "model" else name):
                invocation.refuse(name, self.lacks_because)

    def model(self, invocation: Invocation, launch: Launch) -> str:
        """The one model that is wanted, without the name of its provider."""
        if len(invocation.models) > 1:
            invocation.refuse("model", "takes one model, not a list")
        return bare_model(next(iter(invocation.models), launch.agent.model), self.prefixes)

    def permission_mode(self, invocation: Invocation) -> str:
        """The mode that the author asks for; modes that skip questions are the operator's."""
        mode = invocation.permission_mode
        if mode and mode not in self.modes:
            more = f"skip_permissions or flags in [agents.{invocation.agent}] of whorl.toml"
            invocation.refuse(
                "permission_mode",
                f"takes {', '.join(self.modes)} here, not {mode!r}; only the operator can give "
                f"more, with {more}",
            )
        return mode


def prompt_of(invocation: Invocation, *, system: bool = False, schema: bool = False) -> str:
    """What stands on stdin: the prompt, with what the program has no flag for said in words."""
    texts = [invocation.system] if system and invocation.system else []
    texts.append(invocation.prompt)
    if schema and invocation.schema is not None:
        texts.append(instruction_for(invocation.schema))
    return "\n\n".join(texts)


def bare_model(model: str, prefixes: tuple[str, ...]) -> str:
    """The model as the program calls it: `anthropic/claude-x` is `claude-x` to claude."""
    provider, slash, name = model.partition("/")
    return name if slash and provider in prefixes else model


def invocation_of(request: Request) -> Invocation:
    """Reads a request; raises ProviderError P113 for an input that makes no sense."""
    inputs = Inputs("agent", request.inputs)
    session, prompt = _conversation(request, inputs)
    system = clean(inputs.text("system"))
    if len(system.encode()) > SYSTEM_BYTES_MAX or "\0" in system:
        inputs.refuse("system", f"must have no NUL and at most {SYSTEM_BYTES_MAX:,} bytes")
    mode = inputs.text("permission_mode")
    if mode and not _WORD.fullmatch(mode):
        inputs.refuse("permission_mode", f"must be one word, not {mode!r:.80}")
    return Invocation(
        agent=inputs.needed("agent"),
        prompt=prompt,
        system=system,
        models=_models(inputs),
        folder=inputs.text("folder"),
        session=session,
        wants_session=inputs.flag("keep_session", default=False) or bool(session),
        max_turns=inputs.count("max_turns"),
        max_cost_usd=cost_limit(inputs),
        permission_mode=mode,
        tools=_tools(inputs),
        schema=request.returns,
        whole=inputs.flag("whole", default=False),
    )


def cost_limit(inputs: Inputs) -> float | None:
    """The most that the work may cost, where the author says so."""
    value = inputs.number("max_cost_usd")
    if value is not None and not 0 < value < 1e6:
        inputs.refuse("max_cost_usd", f"must be a number of dollars above 0, not {value!r}")
    return value


def _conversation(request: Request, inputs: Inputs) -> tuple[str, str]:
    """The session to go on with and the prompt; after an answer that did not fit, a correction."""
    session = request.session or inputs.text("session")
    prompt = clean(inputs.needed("prompt"))
    if isinstance(request.repair, dict):
        repair = Inputs("agent", request.repair)
        correction = correction_for([str(fault) for fault in repair.items("errors")])
        if kept := repair.text("session"):
            session, prompt = kept, correction
        else:
            answer = repair.text("answer")
            prompt = f"{prompt}\n\nYour answer was:\n{answer}\n\n{correction}"
    if session and not _SESSION.fullmatch(session):
        inputs.refuse("session", f"is no name of a session: {session!r:.80}")
    return session, clean(prompt)


def _models(inputs: Inputs) -> tuple[str, ...]:
    given = inputs.get("model")
    models = given if isinstance(given, list) else [given] if given else []
    for model in models:
        if not isinstance(model, str) or not _MODEL.fullmatch(model):
            inputs.refuse("model", f"is no name of a model: {model!r:.80}")
    return tuple(str(model) for model in models)


def _tools(inputs: Inputs) -> tuple[str, ...]:
    for tool in inputs.items("tools"):
        if not isinstance(tool, str) or not _TOOL.fullmatch(tool):
            inputs.refuse("tools", f"holds {tool!r:.80}, which is no name of a tool")
    return tuple(str(tool) for tool in inputs.items("tools"))
