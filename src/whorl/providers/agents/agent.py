"""The task `agent`: an agent program works in a folder of the project, if the operator lets it.

What the program prints is followed as it comes: lines, events, and what is shown of them.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, did_you_mean
from whorl.language.schema import fit
from whorl.providers.agents.programs import PROGRAMS, AgentOutput, Invocation, bare_model
from whorl.providers.context import OwnTask
from whorl.providers.json_values import NotJson, as_json, clean, parse_json, shorten
from whorl.providers.models import conversation
from whorl.providers.processes import (
    Finished,
    Program,
    check_permission,
    folder_in,
    make_workspace,
    run_program,
)
from whorl.providers.redaction import Secret, StreamedText, redact, redact_error
from whorl.providers.settings import AgentSettings, revealed
from whorl.providers.settings.model_providers import KNOWN_PROVIDERS
from whorl.providers.settings.sections import agents_from
from whorl.providers.task import (
    Effect,
    Emit,
    Estimate,
    Inputs,
    Reply,
    Request,
    Usage,
    before_sending,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whorl.language import Json
    from whorl.providers.agents.programs import AgentProgram


# A command line holds the system prompt of some programs, and Linux takes 128 KB for one word.
SYSTEM_BYTES_MAX = 100_000
# How much of an output is followed as it comes; of a longer one the end is read when it is over.
FOLLOWED_MAX = 16_000_000
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
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,49}")


class Agent(OwnTask):
    """Inputs: agent, prompt, system, model, folder, permission_mode, max_turns, max_cost_usd,
    tools, session, keep_session, whole.

    The value is the agent's last words, or what `returns` describes; with `whole` it is an object
    `{text, value, session, model, exit_code}`. The detail holds `session`, to go on with.
    """

    effect: Effect = "priced"

    def estimate(self, request: Request) -> Estimate:
        """One call; its price is not known before it is over, unless the author limits it."""
        return Estimate(calls=1, cost_usd=_cost_limit(Inputs("agent", request.inputs)))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        with before_sending():
            invocation = invocation_of(request, {**agents_from({}, {}), **self._settings.agents})
            agent = invocation.settings
            kind = PROGRAMS[agent.kind]
            what = f"{agent.program!r} of agent {agent.name!r}"
            check_permission(self._settings, agent.program, what)
            kind.check(invocation)
            make_workspace(self._settings.project_root, request)
        secrets = self._settings.secrets()
        with _schema_file(kind, invocation) as schema_file:
            with before_sending():
                program = self._program(replace(invocation, schema_file=schema_file), kind)
            stream = Stream(kind.output(invocation), emit, secrets)
            limit_s = request.timeout_s or agent.timeout_s
            finished = await _run(program, stream, agent, limit_s=limit_s)
        output = output_of(finished, stream)
        if not output.ended and finished.cut and (last := kind.output(invocation)) is not None:
            # The end of an output that was too long to be followed tells how the work ended.
            stream = Stream(last, lambda text: None, ())
            stream.add(finished.stdout)
            stream.end()
            output = last
        cost_usd = self._cost(kind, invocation, output)
        return reply_of(invocation, output, finished, cost_usd=cost_usd, secrets=secrets)

    def _program(self, invocation: Invocation, kind: AgentProgram) -> Program:
        key, base_url = "", ""
        provider = self._settings.providers.get(kind.provider)
        if provider is not None and provider.api_key is not None:
            key = provider.api_key.reveal()
            usual = KNOWN_PROVIDERS[kind.provider].base_url
            base_url = provider.base_url if provider.base_url != usual else ""
        argv, stdin = kind.command_line(replace(invocation, base_url=base_url))
        variables = {name: text for name, text in kind.variables(key, base_url).items() if text}
        own = revealed(invocation.settings.env)
        return Program(
            argv=tuple(argv),
            environment={**self._settings.environment, **variables, **own},
            folder=folder_in(self._settings.project_root, invocation.folder),
            stdin=clean(stdin).encode(),
        )

    def _cost(
        self, kind: AgentProgram, invocation: Invocation, output: AgentOutput
    ) -> float | None:
        """What the program told, or the price of its tokens where its model and key are known."""
        provider = self._settings.providers.get(kind.provider)
        model = output.model or next(iter(invocation.models), invocation.settings.model)
        is_known = provider is not None and provider.api_key is not None and model and output.ended
        if output.cost_usd is not None or provider is None or not is_known:
            return output.cost_usd
        candidate = conversation.Candidate(provider, bare_model(model, (kind.provider,)))
        return self._context.models.prices.cost(
            candidate, output.input_tokens, output.output_tokens
        )


def invocation_of(request: Request, agents: Mapping[str, AgentSettings]) -> Invocation:
    """Reads a request; raises ProviderError P113 for an input that makes no sense."""
    inputs = Inputs("agent", request.inputs)
    session, prompt = _conversation(request, inputs)
    system = clean(inputs.text("system"))
    if len(system.encode()) > SYSTEM_BYTES_MAX or "\0" in system:
        inputs.refuse("system", f"must have no NUL and at most {SYSTEM_BYTES_MAX:,} bytes")
    mode = inputs.text("permission_mode")
    if mode and not _WORD.fullmatch(mode):
        inputs.refuse("permission_mode", f"must be one word, not {mode!r:.80}")
    model = inputs.get("model")
    models: list[Json] = model if isinstance(model, list) else [model] if model else []
    for each in models:
        if not isinstance(each, str) or not _MODEL.fullmatch(each):
            inputs.refuse("model", f"is not the name of a model:  {each!r:.80}")
    tools = inputs.items("tools")
    for tool in tools:
        if not isinstance(tool, str) or not _TOOL.fullmatch(tool):
            inputs.refuse("tools", f"holds {tool!r:.80}, which is not the name of a tool")
    name = inputs.needed("agent")
    if name not in agents:
        near = did_you_mean(name, agents) or f"known: {', '.join(agents)}"
        why = f"is not known ({near}); others are configured as [agents.NAME] in whorl.toml"
        raise ProviderError(f"agent {name!r} {why}", code="P113")
    return Invocation(
        agent=name,
        settings=agents[name],
        prompt=prompt,
        system=system,
        models=tuple(map(str, models)),
        folder=inputs.text("folder"),
        session=session,
        wants_session=inputs.flag("keep_session") or bool(session),
        max_turns=inputs.count("max_turns"),
        max_cost_usd=_cost_limit(inputs),
        permission_mode=mode,
        tools=tuple(map(str, tools)),
        schema=request.returns,
        strict=request.inputs.get("strict") is True,
        whole=inputs.flag("whole"),
    )


def _cost_limit(inputs: Inputs) -> float | None:
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
        correction = conversation.correction_for([str(fault) for fault in repair.items("errors")])
        if kept := repair.text("session"):
            session, prompt = kept, correction
        else:
            answer = repair.text("answer")
            prompt = f"{prompt}\n\nYour answer was:\n{answer}\n\n{correction}"
    if session and not _SESSION.fullmatch(session):
        inputs.refuse("session", f"is not the name of a session:  {session!r:.80}")
    return session, clean(prompt)


@contextmanager
def _schema_file(kind: AgentProgram, invocation: Invocation) -> Iterator[str]:
    """A file with the schema while the program runs, for one that can hold its model to it."""
    schema = conversation.closed(invocation.schema)
    is_form = isinstance(schema, dict) and conversation.is_strict(schema)
    if not kind.takes_schema_file or not is_form:
        yield ""
        return
    with TemporaryDirectory(prefix="whorl-") as folder:
        path = Path(folder) / "schema.json"
        path.write_text(json.dumps(schema), encoding="utf-8")
        yield str(path)


async def _run(
    program: Program, stream: Stream, agent: AgentSettings, *, limit_s: float
) -> Finished:
    """Runs the program to its end; nothing of its process group is left when this returns."""
    clock = asyncio.get_running_loop().time
    last = clock() + limit_s

    def hurry() -> None:
        if not deadline.expired():
            deadline.reschedule(min(last, clock() + LINGER_S))

    stream.when_ended = hurry
    try:
        async with asyncio.timeout_at(last) as deadline:
            finished = await run_program(program, stream.add, output_max=FOLLOWED_MAX)
    except TimeoutError:
        if not deadline.expired():
            raise
        if stream.output is not None and stream.output.ended:
            return Finished("", "", 0)
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
    stream.end()
    return finished


def reply_of(
    invocation: Invocation,
    output: AgentOutput,
    finished: Finished,
    *,
    cost_usd: float | None,
    secrets: Sequence[Secret],
) -> Reply:
    """The reply; raises ProviderError P105, P109 or P130, with what the work has cost."""
    usage = Usage(1, output.input_tokens, output.output_tokens, cost_usd)
    text = shorten(clean(output.text), ANSWER_MAX)
    named: dict[str, Json] = {"session": output.session, "model": output.model}
    named["cut"] = len(output.text) > ANSWER_MAX
    detail: dict[str, Json] = {"agent": invocation.agent, "exit_code": finished.exit_code}
    detail |= {name: value for name, value in named.items() if value} | output.detail
    if named["cut"]:
        words = f"the answer has more than {ANSWER_MAX:,} characters: its end was left out"
        detail["warnings"] = [{"code": "R117", "message": words}]
    paid = detail | {"usage": usage.as_json()}
    failure = _failure(f"agent {invocation.agent!r}", output, finished)
    if failure is not None:
        # The driver keeps a value beside the error: nothing that was paid for is lost.
        raise redact_error(failure, secrets, paid | ({"value": text} if text else {}))
    value: Json = text
    schema = invocation.schema
    if schema is not None:
        # What the program checked itself is checked again.
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
    return Reply(redact(value, secrets), usage, shown)


def _failure(name: str, output: AgentOutput, finished: Finished) -> ProviderError | None:
    """Why the work failed, by the program's own words first; None when it is done."""
    if output.error:
        words = shorten(_COLOR.sub("", output.error), WORDS_MAX)
        fault = ProviderError(f"{name} failed: {words}", code="P130")
        fault.retryable = output.status in RETRYABLE
        fault.detail = {"status": output.status} if output.status else {}
        return fault
    texts = (finished.stderr, str(output.detail.get("noise", "")), finished.stdout)
    lines = [line for text in texts for line in _COLOR.sub("", text).strip().splitlines()[-1:]]
    words = f": {shorten(lines[0], WORDS_MAX)}" if lines else ""
    if finished.exit_code != 0:
        message = f"{name} ended with exit code {finished.exit_code}{words}"
        return ProviderError(message, code="P109", detail={"stderr": finished.stderr[-STDERR_MAX:]})
    # A program of no known format may have done its work without a word.
    is_empty = not output.is_plain and output.structured is None and not output.text.strip()
    if not output.ended or is_empty:
        return ProviderError(f"{name} ended without a result{words}", code="P130")
    return None


# What an agent program prints, followed as it comes: lines, events, and what is shown of them.

LINE_MAX = 8_000_000
EMITTED_MAX = 1_000_000
NOISE_MAX = 2_000


class Stream:
    """Cuts pieces of output into lines, and gives each event to `output`.

    Without one all that is printed is the answer, and is passed on as it is. `when_ended` is called
    with each event from the one on that says that the work is over. `noise` is the last of what
    was no event: a program that breaks often says why on stdout.
    """

    def __init__(self, output: AgentOutput | None, emit: Emit, secrets: Sequence[Secret]) -> None:
        self.output = output
        self._emit = emit
        self._shown = StreamedText(secrets)
        self._pieces: list[str] = []
        self._length = 0
        self._emitted = 0
        self.events = 0
        self.when_ended: Callable[[], None] = lambda: None
        self.noise = ""

    def add(self, piece: str) -> None:
        if self.output is None:
            self._show(self._shown.take(clean(piece)))
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
        if not line or self.output is None:
            return
        try:
            # A number that is no number is no reason to lose a result that was paid for.
            event = as_json(parse_json(line, in_part=True))
        except NotJson:
            event = None
        if not isinstance(event, dict):
            self.noise = f"{self.noise}\n{line[-NOISE_MAX:]}"[-NOISE_MAX:].strip()
            return
        self.events += 1
        self._show(self._shown.take(clean(self.output.take(event))))
        if self.output.ended:
            self.when_ended()

    def _show(self, text: str) -> None:
        if text and self._emitted < EMITTED_MAX:
            self._emitted += len(text)
            self._emit(text)


def output_of(finished: Finished, stream: Stream) -> AgentOutput:
    """What the program said; one that speaks no JSON at all is taken at its word."""
    output = stream.output
    if output is None or (stream.events == 0 and finished.exit_code == 0):
        text = finished.stdout.strip()
        is_answer = output is None or bool(text)
        detail: dict[str, Json] = {"format": "text"} if output else {}
        return AgentOutput(text=text, ended=is_answer, detail=detail, is_plain=True)
    if not output.ended and stream.noise:
        output.detail["noise"] = stream.noise
    return output
