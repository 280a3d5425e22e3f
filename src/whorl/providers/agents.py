"""The task `agent`: an agent program works in a folder of the project, if the operator allows it.

Claude Code, Codex, Gemini CLI, and any other that prints its answer. Whorl reads the output as it
comes: it takes events from its lines, and shows their text.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import field, replace
from math import isfinite
from typing import TYPE_CHECKING, NoReturn
from uuid import uuid4

from whorl.errors import ProviderError, did_you_mean
from whorl.language.schema import fit
from whorl.lazily import dataclass
from whorl.providers import json_values, processes, task
from whorl.providers.models import conversation
from whorl.providers.models.conversation import counted, instruction_for
from whorl.providers.redaction import Secret, StreamedText, redact, redact_error
from whorl.providers.settings import AgentSettings, revealed
from whorl.providers.settings.sections import KNOWN_PROVIDERS, TEXT_AGENT, agents_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whorl.language import Json


# Agent programs: their work, their command lines, and how their output is read.

# A longer schema is put into the prompt: no argument of a command may be longer.
SCHEMA_BYTES_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One piece of work for an agent. Only `prompt` and `system` can begin with `-`.

    `session` is a conversation to continue; `wants_session` says that the next step will ask for
    one. `models` are tried in order. `schema` is what the answer must fit (`strict`: without
    further fields). `settings` are the operator's; `base_url` is the provider's address if that is
    not the usual one.
    """

    agent: str
    settings: AgentSettings
    prompt: str
    system: str = ""
    models: tuple[str, ...] = ()
    folder: str = ""
    session: str = ""
    wants_session: bool = False
    max_cost_usd: float | None = None
    tools: tuple[str, ...] = ()
    schema: Json = None
    strict: bool = False
    whole: bool = False
    base_url: str = ""

    def refuse(self, name: str, why: str) -> NoReturn:
        raise ProviderError(f"input {name!r} of task 'agent': {self.agent!r} {why}", code="P113")

    def stdin(self, *, system: bool = False, schema: bool = False) -> str:
        """Returns the prompt, with instructions for inputs that have no flag."""
        texts = [self.system] if system and self.system else []
        texts.append(self.prompt)
        if schema and self.schema is not None:
            texts.append(instruction_for(self.schema))
        return "\n\n".join(texts)


@dataclass(slots=True)
class AgentOutput:
    """The output of a program so far. `ended` is true once it said that its work is over.

    `error` holds its own words for a failure, even if its exit code claims success. `cost_usd` is
    None if the program does not report it. `is_plain` says that the output has no known format.
    `resumed` is the session that it continues. `has_pieces`: the message was shown piece by piece.
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
    is_plain: bool = False
    resumed: str = ""
    has_pieces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """One agent program: how it is started, and how its output is read.

    `command_line` makes the command line and stdin, which holds the prompt. `variables` makes its
    environment beside PATH and HOME from the key and the address of its `provider`; empty ones are
    not set. `read` takes an event that it printed, and returns the text to show now; without it,
    all of its output is the answer. `package` is the command that installs it. `lacks` are the
    inputs for which it has no flag. `keeps_sessions` says that it can continue a conversation.
    """

    command_line: Callable[[Invocation], tuple[list[str], str]]
    variables: Callable[[str, str], dict[str, str]] = lambda key, base_url: {}
    read: Callable[[AgentOutput, dict[str, Json]], str] | None = None
    package: str = ""
    provider: str = ""
    lacks: tuple[str, ...] = ("max_cost_usd", "tools")
    keeps_sessions: bool = True

    def check(self, invocation: Invocation) -> None:
        if not self.keeps_sessions and invocation.wants_session:
            advice = "use claude-code or codex, or put what it must know into the prompt"
            invocation.refuse("session", f"keeps no sessions; {advice}")
        for name in self.lacks:
            if getattr(invocation, "models" if name == "model" else name):
                invocation.refuse(name, "has no flag for it; leave it out")


def _models(invocation: Invocation, *prefixes: str) -> list[str]:
    """Returns the program's names of the models; `prefixes` are providers that may precede them."""
    usual = invocation.settings.model
    names = invocation.models or ((usual,) if usual else ())
    bare = [bare_model(name, prefixes) for name in names]
    if flags := [name for name in bare if not name or name.startswith("-")]:
        invocation.refuse("model", f"takes the name of a model, not {flags[0]!r:.80}")
    return bare


def _model_flags(invocation: Invocation, *prefixes: str) -> list[str]:
    if len(invocation.models) > 1:
        invocation.refuse("model", "takes one model, not a list")
    return [word for model in _models(invocation, *prefixes) for word in ("--model", model)]


def bare_model(model: str, prefixes: tuple[str, ...]) -> str:
    """Returns the program's name of a model: `anthropic/claude-x` is `claude-x` to claude."""
    provider, slash, name = model.partition("/")
    return name if slash and provider in prefixes else model


def text_in(value: Json, *keys: str) -> str:
    for key in keys:
        value = json_values.table_of(value).get(key)
    return value if isinstance(value, str) else ""


def count_in(value: Json, key: str) -> int:
    """Returns the whole number at a key, or 0 if it is not credible."""
    return counted(json_values.table_of(value).get(key)) or 0


# Claude Code: `claude --print`, its stream of JSON, its sessions by UUID.

# It makes no updates, and no titles that cost.
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _claude_command(invocation: Invocation) -> tuple[list[str], str]:
    agent = invocation.settings
    argv = [agent.program, "--print", "--output-format", "stream-json", "--verbose"]
    argv.append("--include-partial-messages")
    if invocation.session:
        argv += ["--resume", invocation.session]
    else:
        argv += ["--session-id", str(uuid4())]
    models = _models(invocation, "anthropic", "claude-code")
    argv += ["--model", models[0]] if models else []
    argv += ["--fallback-model", ",".join(models[1:])] if models[1:] else []
    if invocation.system:
        argv.append(f"--append-system-prompt={invocation.system}")
    if invocation.max_cost_usd is not None:
        argv += ["--max-budget-usd", f"{invocation.max_cost_usd:.6f}"]
    if invocation.tools:
        argv.append(f"--tools={','.join(invocation.tools)}")
    # The program makes a tool of the schema, and tools take objects.
    schema = json.dumps(invocation.schema, sort_keys=True)
    is_object = json_values.table_of(invocation.schema).get("type") == "object"
    by_flag = is_object and len(schema) <= SCHEMA_BYTES_MAX
    if by_flag:
        argv.append(f"--json-schema={schema}")
    if agent.skip_permissions:
        argv.append("--dangerously-skip-permissions")
    return [*argv, *agent.flags], invocation.stdin(schema=not by_flag)


def _read_claude(output: AgentOutput, event: dict[str, Json]) -> str:
    output.session = text_in(event, "session_id") or output.session
    kind = event.get("type") or ("result" if "result" in event else "")
    if kind == "result":
        _end_claude(output, event)
    elif event.get("parent_tool_use_id") is not None:
        # An agent that this agent started speaks to it, not to people.
        return ""
    elif kind == "stream_event":
        inner = event.get("event")
        piece = text_in(inner, "delta", "text")
        if text_in(inner, "type") == "content_block_delta" and piece:
            output.has_pieces = True
            return piece
        starts = text_in(inner, "content_block", "type") == "text"
        return "\n" if starts and output.text else ""
    elif kind == "assistant":
        blocks = json_values.tables_of(json_values.table_of(event.get("message")).get("content"))
        if text := "\n".join(filter(None, (text_in(block, "text") for block in blocks))):
            is_shown, output.has_pieces = output.has_pieces, False
            added = f"\n{text}" if output.text else text
            output.text += added
            return "" if is_shown else added
    elif kind == "system":
        output.model = text_in(event, "model") or output.model
    return ""


def _end_claude(output: AgentOutput, event: dict[str, Json]) -> None:
    usage = event.get("usage")
    output.ended = True
    output.structured = event.get("structured_output")
    output.text = text_in(event, "result") or output.text
    output.input_tokens = sum(count_in(usage, name) for name in _CLAUDE_INPUT)
    output.output_tokens = count_in(usage, "output_tokens")
    cost = event.get("total_cost_usd")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and isfinite(cost):
        output.cost_usd = max(float(cost), 0.0)
    output.status = count_in(event, "api_error_status") or None
    subtype = text_in(event, "subtype") or "success"
    output.error = ""
    # A result can have failed under the subtype `success`.
    if event.get("is_error") is True or subtype != "success":
        listed = event.get("errors")
        errors = [str(error) for error in listed[:3]] if isinstance(listed, list) else []
        reason = "; ".join(errors) or text_in(event, "error") or text_in(event, "result")
        output.error = reason or subtype


# Codex: `codex exec --json`, or `codex exec resume` for a conversation that continues.

_CODEX_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


def _codex_command(invocation: Invocation) -> tuple[list[str], str]:
    agent = invocation.settings
    # A folder of the project is chosen on purpose, whether or not git knows it.
    options = ["--json", "--skip-git-repo-check", *_model_flags(invocation, "openai", "codex")]
    settings = {"openai_base_url": invocation.base_url, "developer_instructions": invocation.system}
    for name, text in settings.items():
        if text:
            # `-c` takes a TOML string.
            written = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
            options += ["-c", f"{name}={written}"]
    if agent.skip_permissions:
        options.append("--dangerously-bypass-approvals-and-sandbox")
    prompt = invocation.stdin(schema=True)
    if not invocation.session:
        return [agent.program, "exec", *options, *agent.flags, "-"], prompt
    # The operator's flags stand before `resume`, which does not know all of them.
    thread = invocation.session.partition(":")[0]
    return [agent.program, "exec", *agent.flags, "resume", *options, thread, "-"], prompt


def _read_codex(output: AgentOutput, event: dict[str, Json]) -> str:
    """Takes an event of threads, turns and items; the last message is the answer."""
    kind, item = event.get("type"), event.get("item")
    if kind == "thread.started":
        output.session = text_in(event, "thread_id") or output.session.partition(":")[0]
    elif kind == "item.completed":
        text = text_in(item, "text")
        if text_in(item, "type") == "agent_message" and text:
            separator = "\n" if output.text else ""
            output.text = text
            return separator + text
    elif kind == "turn.completed":
        # A resumed thread counts its tokens from its beginning, so the name of a session holds the
        # counts so far: `THREAD:INPUT:OUTPUT`.
        counts = output.resumed.split(":")[1:]
        is_known = len(counts) == 2 and all(map(str.isdigit, counts))
        read, written = map(int, counts) if is_known else (0, 0)
        usage = event.get("usage")
        all_read, all_written = count_in(usage, "input_tokens"), count_in(usage, "output_tokens")
        output.ended, output.error, output.status = True, "", None
        output.input_tokens = all_read - read if all_read >= read else all_read
        output.output_tokens = all_written - written if all_written >= written else all_written
        if thread := output.session.partition(":")[0]:
            output.session = f"{thread}:{all_read}:{all_written}"
    elif kind == "turn.failed" or (kind == "error" and not output.ended):
        # Retried tries also report an error, so only a completed turn decides.
        output.ended = output.ended or kind == "turn.failed"
        usual = text_in(event, "error", "message") or "the turn failed"
        output.error = usual if kind == "turn.failed" else text_in(event, "message")
        status = _CODEX_STATUS.search(output.error)
        output.status = int(status[1]) if status else None
    return ""


def _gemini_command(invocation: Invocation) -> tuple[list[str], str]:
    agent, flags = invocation.settings, _model_flags(invocation, "gemini", "google")
    argv = [agent.program, "--output-format", "stream-json", *flags]
    if agent.skip_permissions:
        argv.append("--yolo")
    return [*argv, *agent.flags], invocation.stdin(system=True, schema=True)


def _read_gemini(output: AgentOutput, event: dict[str, Json]) -> str:
    kind = event.get("type")
    if kind == "init":
        output.model = text_in(event, "model")
    elif kind == "message" and event.get("role") == "assistant":
        piece = text_in(event, "content")
        output.text += piece
        return piece
    elif kind == "error" and event.get("severity") != "warning":
        output.error = text_in(event, "message")
    elif kind == "result":
        output.ended = True
        output.input_tokens = count_in(event.get("stats"), "input_tokens")
        output.output_tokens = count_in(event.get("stats"), "output_tokens")
        words = text_in(event, "error", "message") or output.error or "it failed"
        output.error = "" if event.get("status") == "success" else words
    return ""


PROGRAMS: dict[str, AgentProgram] = {
    "claude-code": AgentProgram(
        command_line=_claude_command,
        variables=lambda key, url: {**_QUIET, "ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": url},
        read=_read_claude,
        package="npm install -g @anthropic-ai/claude-code",
        provider="anthropic",
        lacks=(),
    ),
    "codex": AgentProgram(
        command_line=_codex_command,
        # Its versions read the key and the address under different names.
        variables=lambda key, base_url: {
            "CODEX_API_KEY": key,
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": base_url,
        },
        read=_read_codex,
        package="npm install -g @openai/codex",
        provider="openai",
    ),
    "gemini": AgentProgram(
        command_line=_gemini_command,
        # It gets no key that belongs to a host that the program would not use.
        variables=lambda key, base_url: {"GEMINI_API_KEY": "" if base_url else key},
        read=_read_gemini,
        package="npm install -g @google/gemini-cli",
        provider="gemini",
        keeps_sessions=False,
    ),
    TEXT_AGENT: AgentProgram(
        command_line=lambda invocation: (
            [invocation.settings.program, *invocation.settings.flags],
            invocation.stdin(system=True, schema=True),
        ),
        lacks=("model", "max_cost_usd", "tools"),
        keeps_sessions=False,
    ),
}


# The task.

# A command line holds the system prompt of some programs, and Linux takes 128 KB for one word.
SYSTEM_BYTES_MAX = 100_000
# How long a program may live on after it has said that its work is over.
LINGER_S = 60.0
NOT_FOUND = 127
ANSWER_MAX = 1_000_000
WORDS_MAX = 500
STDERR_MAX = 10_000
# Faults of a server that may be gone when the same is tried again.
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_COLOR = re.compile(r"\x1b\[[0-9;]*m")

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.:*-]{0,99}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")


class Agent(task.OwnTask):
    """Inputs: agent, prompt, system, model, folder, max_cost_usd, tools, session, keep_session,
    whole.

    The value is the agent's last words, or what `returns` describes; with `whole` it is an object
    `{text, value, session, model, exit_code}`. The detail holds `session`, which continues it.
    """

    effect: task.Effect = "priced"

    def estimate(self, request: task.Request) -> task.Estimate:
        """Returns one call; its price is unknown until its end, unless the author limits it."""
        return task.Estimate(calls=1, cost_usd=_cost_limit(task.Inputs("agent", request.inputs)))

    async def perform(self, request: task.Request, emit: task.Emit) -> task.Reply:
        with task.before_sending():
            invocation = invocation_of(request, {**agents_from({}, {}), **self._settings.agents})
            agent = invocation.settings
            kind = PROGRAMS[agent.kind]
            what = f"{agent.program!r} of agent {agent.name!r}"
            processes.check_permission(self._settings, agent.program, what)
            kind.check(invocation)
            processes.make_workspace(self._settings.project_root, request)
            program = self._program(invocation, kind)
        secrets = self._settings.secrets()
        stream = Stream(kind.read, invocation.session, emit, secrets)
        limit_s = request.timeout_s or agent.timeout_s
        finished = await _run(program, stream, agent, limit_s=limit_s)
        output = output_of(finished, stream)
        cost_usd = self._cost(kind, invocation, output)
        return reply_of(invocation, output, finished, cost_usd=cost_usd, secrets=secrets)

    def _program(self, invocation: Invocation, kind: AgentProgram) -> processes.Program:
        key, base_url = "", ""
        provider = self._settings.providers.get(kind.provider)
        if provider is not None and provider.api_key is not None:
            key = provider.api_key.reveal()
            usual = KNOWN_PROVIDERS[kind.provider].base_url
            base_url = provider.base_url if provider.base_url != usual else ""
        argv, stdin = kind.command_line(replace(invocation, base_url=base_url))
        variables = {name: text for name, text in kind.variables(key, base_url).items() if text}
        own = revealed(invocation.settings.env)
        return processes.Program(
            argv=tuple(argv),
            environment={**self._settings.environment, **variables, **own},
            folder=processes.folder_in(self._settings.project_root, invocation.folder),
            stdin=json_values.clean(stdin).encode(),
        )

    def _cost(
        self, kind: AgentProgram, invocation: Invocation, output: AgentOutput
    ) -> float | None:
        """Returns the cost that the program reported, or that of its tokens if prices are known."""
        provider = self._settings.providers.get(kind.provider)
        model = output.model or next(iter(invocation.models), invocation.settings.model)
        is_known = provider is not None and provider.api_key is not None and model and output.ended
        if output.cost_usd is not None or provider is None or not is_known:
            return output.cost_usd
        candidate = conversation.Candidate(provider, bare_model(model, (kind.provider,)))
        return self._context.models.prices.cost(
            candidate, output.input_tokens, output.output_tokens
        )


def invocation_of(request: task.Request, agents: Mapping[str, AgentSettings]) -> Invocation:
    """Reads a request. Raises ProviderError P113 for an invalid input."""
    inputs = task.Inputs("agent", request.inputs)
    session = request.session or inputs.text("session")
    prompt = json_values.clean(inputs.needed("prompt"))
    if isinstance(request.repair, dict):
        # The answer before did not fit.
        repair = task.Inputs("agent", request.repair)
        correction = conversation.correction_for([str(fault) for fault in repair.items("errors")])
        if kept := repair.text("session"):
            session, prompt = kept, correction
        else:
            answer = repair.text("answer")
            prompt = f"{prompt}\n\nYour answer was:\n{answer}\n\n{correction}"
    if session and not _SESSION.fullmatch(session):
        inputs.refuse("session", f"is not the name of a session: {session!r:.80}")
    system = json_values.clean(inputs.text("system"))
    if len(system.encode()) > SYSTEM_BYTES_MAX or "\0" in system:
        inputs.refuse("system", f"must have no NUL and at most {SYSTEM_BYTES_MAX:,} bytes")
    name = inputs.needed("agent")
    if name not in agents:
        near = did_you_mean(name, agents) or f"known: {', '.join(agents)}"
        why = f"is not known ({near}); others are configured as [agents.NAME] in whorl.toml"
        raise ProviderError(f"agent {name!r} {why}", code="P113")
    return Invocation(
        agent=name,
        settings=agents[name],
        prompt=json_values.clean(prompt),
        system=system,
        models=_names(inputs, "model", _MODEL),
        folder=inputs.text("folder"),
        session=session,
        wants_session=inputs.flag("keep_session") or bool(session),
        max_cost_usd=_cost_limit(inputs),
        tools=_names(inputs, "tools", _TOOL),
        schema=request.returns,
        strict=request.inputs.get("strict") is True,
        whole=inputs.flag("whole"),
    )


def _names(inputs: task.Inputs, name: str, form: re.Pattern[str]) -> tuple[str, ...]:
    value = inputs.get(name)
    listed = value if isinstance(value, list) else [value] if value else []
    for each in listed:
        if not isinstance(each, str) or not form.fullmatch(each):
            inputs.refuse(name, f"holds {each!r:.80}, which is not the name of one")
    return tuple(map(str, listed))


def _cost_limit(inputs: task.Inputs) -> float | None:
    value = inputs.number("max_cost_usd")
    if value is not None and not 0 < value < 1e6:
        inputs.refuse("max_cost_usd", f"must be a number of dollars above 0, not {value!r}")
    return value


async def _run(
    program: processes.Program, stream: Stream, agent: AgentSettings, *, limit_s: float
) -> processes.Finished:
    """Runs the program to its end; no process of its group is left when this returns."""
    clock = asyncio.get_running_loop().time
    last = clock() + limit_s

    def hurry() -> None:
        if not deadline.expired():
            deadline.reschedule(min(last, clock() + LINGER_S))

    stream.when_ended = hurry
    try:
        async with asyncio.timeout_at(last) as deadline:
            finished = await processes.run_program(program, stream.add, is_followed=True)
            # The last event may have no line break: the deadline has to be there still.
            stream.end()
            return finished
    except TimeoutError:
        if not deadline.expired():
            raise
        if stream.output.ended:
            return processes.Finished("", "", 0)
        advice = f"raise timeout of the step, or timeout_s of [agents.{agent.name}]"
        why = f"agent {agent.name!r} took longer than {limit_s:g} s and was stopped; {advice}"
        raise ProviderError(why, code="P108", retryable=True) from None
    except ProviderError as fault:
        if fault.detail.get("exit_code") != NOT_FOUND:
            raise
        package = PROGRAMS[agent.kind].package
        advice = f"install it with `{package}`, or " if package else ""
        why = f"was not found on PATH; {advice}set program in [agents.{agent.name}] of whorl.toml"
        what = f"program {agent.program!r} of agent {agent.name!r}"
        raise ProviderError(f"{what} {why}", code=fault.code, detail=fault.detail) from fault


def reply_of(
    invocation: Invocation,
    output: AgentOutput,
    finished: processes.Finished,
    *,
    cost_usd: float | None,
    secrets: Sequence[Secret],
) -> task.Reply:
    """Returns the reply. Raises ProviderError P105, P109 or P130, with the cost of the work."""
    usage = task.Usage(1, output.input_tokens, output.output_tokens, cost_usd)
    text = json_values.shorten(json_values.clean(output.text), ANSWER_MAX)
    named: dict[str, Json] = {"session": output.session, "model": output.model}
    detail: dict[str, Json] = {"agent": invocation.agent, "exit_code": finished.exit_code}
    detail |= {name: value for name, value in named.items() if value} | output.detail
    if len(output.text) > ANSWER_MAX:
        words = f"the answer has more than {ANSWER_MAX:,} characters: its end was left out"
        detail |= {"cut": True, "warnings": [{"code": "R117", "message": words}]}
    paid = detail | {"usage": usage.as_json()}
    failure = _failure(f"agent {invocation.agent!r}", output, finished)
    if failure is not None:
        # The driver keeps a value beside the error: nothing that was paid for is lost.
        raise redact_error(failure, secrets, paid | ({"value": text} if text else {}))
    value: Json = text
    schema = invocation.schema
    if schema is not None:
        # Whorl also checks results that the program has checked.
        extra: dict[str, Json] | None = None if invocation.strict else {}
        if output.structured is None:
            value, faults = conversation.typed_answer(schema, text, extra)
        else:
            value, faults = fit(schema, output.structured, extra)
        detail |= {"extra": extra} if extra else {}
        if faults:
            words = conversation.fault_words(faults)
            why = f"the answer of agent {invocation.agent!r} does not fit: {words}"
            unfit: dict[str, Json] = {"answer": text, "errors": [*faults]}
            raise redact_error(ProviderError(why, code="P105"), secrets, paid | unfit)
    if invocation.whole:
        typed = value if schema is not None else None
        kept = {name: detail.get(name) for name in ("session", "model", "exit_code")}
        value = {"text": text, "value": typed, **kept}
    shown = {name: redact(entry, secrets) for name, entry in detail.items()}
    return task.Reply(redact(value, secrets), usage, shown)


def _failure(name: str, output: AgentOutput, finished: processes.Finished) -> ProviderError | None:
    """Returns why the work failed, with the program's own words first, or None if it succeeded."""
    if output.error:
        words = json_values.shorten(_COLOR.sub("", output.error), WORDS_MAX)
        fault = ProviderError(f"{name} failed: {words}", code="P130")
        fault.retryable = output.status in RETRYABLE
        fault.detail = {"status": output.status} if output.status else {}
        return fault
    texts = (finished.stderr, finished.stdout)
    lines = [line for text in texts for line in _COLOR.sub("", text).strip().splitlines()[-1:]]
    words = f": {json_values.shorten(lines[0], WORDS_MAX)}" if lines else ""
    if finished.exit_code != 0:
        message = f"{name} ended with exit code {finished.exit_code}{words}"
        return ProviderError(message, code="P109", detail={"stderr": finished.stderr[-STDERR_MAX:]})
    # A program of no known format may have done its work without a word.
    is_empty = not output.is_plain and output.structured is None and not output.text.strip()
    if not output.ended or is_empty:
        return ProviderError(f"{name} ended without a result{words}", code="P130")
    return None


# The output of an agent program as it comes: lines, events, and the text to show.

LINE_MAX = 8_000_000
EMITTED_MAX = 1_000_000


class Stream:
    """Cuts output into lines, and gives each event to `read`, which fills `output`.

    Without `read`, all text is the answer and is passed on unchanged. `when_ended` is called
    after each event from the one that ends the work.
    """

    def __init__(
        self,
        read: Callable[[AgentOutput, dict[str, Json]], str] | None,
        session: str,
        emit: task.Emit,
        secrets: Sequence[Secret],
    ) -> None:
        self._read, self.is_text = read, read is None
        self.output = AgentOutput(session=session, resumed=session)
        self._emit = emit
        self._shown = StreamedText(secrets)
        self._pieces: list[str] = []
        self._length = 0
        self._emitted = 0
        self.events = 0
        self.when_ended: Callable[[], None] = lambda: None

    def add(self, piece: str) -> None:
        if self._read is None:
            self._show(self._shown.take(json_values.clean(piece)))
            return
        first, *lines = piece.split("\n")
        self._keep(first)
        for line in lines:
            self._end_line()
            self._keep(line)

    def end(self) -> None:
        self._end_line()
        self._show(self._shown.rest(is_whole=True))

    def _keep(self, piece: str) -> None:
        # A line that is too long is cut, and so it is no event; its end is still waited for.
        self._length += len(piece)
        if self._length <= LINE_MAX:
            self._pieces.append(piece)

    def _end_line(self) -> None:
        line = "".join(self._pieces).strip()
        self._pieces, self._length = [], 0
        if not line or self._read is None:
            return
        event: Json = None
        with suppress(json_values.NotJson):
            # A number that is no number is no reason to lose a result that was paid for.
            event = json_values.as_json(json_values.parse_json(line, in_part=True))
        if not isinstance(event, dict):
            return
        self.events += 1
        self._show(self._shown.take(json_values.clean(self._read(self.output, event))))
        if self.output.ended:
            self.when_ended()

    def _show(self, text: str) -> None:
        if text and self._emitted < EMITTED_MAX:
            self._emitted += len(text)
            self._emit(text)


def output_of(finished: processes.Finished, stream: Stream) -> AgentOutput:
    """Returns the program's output; text without any JSON counts as the answer."""
    if stream.is_text or (stream.events == 0 and finished.exit_code == 0):
        text = finished.stdout.strip()
        detail: dict[str, Json] = {} if stream.is_text else {"format": "text"}
        ended = stream.is_text or bool(text)
        return AgentOutput(text, ended=ended, detail=detail, is_plain=True)
    return stream.output
