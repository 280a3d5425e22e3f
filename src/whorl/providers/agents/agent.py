"""The task `agent`: an agent program works in a folder of the project, if the operator lets it."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

from whorl.errors import ProviderError, did_you_mean
from whorl.providers.agents.invocation import Launch, bare_model, cost_limit, invocation_of
from whorl.providers.agents.output import Stream, output_of, reply_of
from whorl.providers.agents.programs import PROGRAMS
from whorl.providers.commands import folder_in
from whorl.providers.json_values import clean
from whorl.providers.models.answers import closed, is_strict
from whorl.providers.models.client import Prices
from whorl.providers.models.conversation import Candidate
from whorl.providers.programs import Finished, Program, check_permission, run_program
from whorl.providers.settings import revealed
from whorl.providers.settings.providers import KNOWN_PROVIDERS
from whorl.providers.settings.sections import agents_from
from whorl.providers.task import Estimate, Inputs, OwnTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.agents.invocation import AgentOutput, AgentProgram, Invocation
    from whorl.providers.settings import AgentSettings, ProviderSettings
    from whorl.providers.task import Context, Effect, Emit, Reply, Request

# How much of an output is followed as it comes; of a longer one the end is read when it is over.
FOLLOWED_MAX = 16_000_000
# How long a program may live on after it has said that its work is over.
LINGER_S = 60.0
NOT_FOUND = 127


class Agent(OwnTask):
    """Inputs: agent, prompt, system, model, folder, permission_mode, max_turns, max_cost_usd,
    tools, session, keep_session, whole.

    The value is the agent's last words, or what `returns` describes; with `whole` it is an object
    `{text, value, session, model, exit_code}`. The detail holds `session`, to go on with.
    """

    effect: Effect = "priced"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._prices = Prices(context.settings)

    def estimate(self, request: Request) -> Estimate:
        """One call; its price is not known before it is over, unless the author limits it."""
        return Estimate(calls=1, cost_usd=cost_limit(Inputs("agent", request.inputs)))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Has the work done. Raises ProviderError; P105 when the answer does not fit `returns`."""
        invocation = invocation_of(request)
        agent = self._agent(invocation.agent)
        kind = PROGRAMS[agent.kind]
        check_permission(
            self._settings, agent.program, f"{agent.program!r} of agent {agent.name!r}"
        )
        kind.check(invocation)
        secrets = self._settings.secrets()
        with _schema_file(kind, invocation) as schema_file:
            program = self._program(invocation, agent, kind, schema_file)
            reader = kind.reader(invocation)
            stream = Stream(reader, emit, secrets)
            limit_s = request.timeout_s or agent.timeout_s
            finished = await _run(program, stream, agent, limit_s=limit_s)
        output = output_of(finished, reader, stream)
        if not output.ended and finished.cut and (last := kind.reader(invocation)) is not None:
            # The end of an output that was too long to be followed tells how the work ended.
            stream = Stream(last, lambda text: None, ())
            stream.add(finished.stdout)
            stream.end()
            output = last.output
        cost_usd = self._cost(kind, invocation, agent, output)
        return reply_of(invocation, output, finished, cost_usd=cost_usd, secrets=secrets)

    def _agent(self, name: str) -> AgentSettings:
        agents = {**agents_from({}, {}), **self._settings.agents}
        if name not in agents:
            near = did_you_mean(name, agents) or f"known: {', '.join(agents)}"
            raise ProviderError(
                f"agent {name!r} is not known ({near}); others are configured as [agents.NAME] "
                "in whorl.toml",
                code="P113",
            )
        return agents[name]

    def _provider(self, kind: AgentProgram) -> ProviderSettings | None:
        """The provider whose key the program is given, if it has one."""
        provider = self._settings.providers.get(kind.provider)
        return provider if provider is not None and provider.api_key is not None else None

    def _program(
        self, invocation: Invocation, agent: AgentSettings, kind: AgentProgram, schema_file: str
    ) -> Program:
        key, base_url = "", ""
        provider = self._provider(kind)
        if provider is not None and provider.api_key is not None:
            key = provider.api_key.reveal()
            usual = KNOWN_PROVIDERS[kind.provider].base_url
            base_url = provider.base_url if provider.base_url != usual else ""
        launch = Launch(agent, str(uuid4()), schema_file, base_url)
        command_line = kind.command_line(invocation, launch)
        environment = {**self._settings.environment, **kind.environment(key, base_url)}
        return Program(
            argv=command_line.argv,
            environment={**environment, **revealed(agent.env)},
            folder=folder_in(self._settings.project_root, invocation.folder),
            stdin=clean(command_line.stdin).encode(),
        )

    def _cost(
        self, kind: AgentProgram, invocation: Invocation, agent: AgentSettings, output: AgentOutput
    ) -> float | None:
        """What the program told, or the price of its tokens where its model and key are known."""
        if output.cost_usd is not None:
            return output.cost_usd
        provider = self._provider(kind)
        model = output.model or next(iter(invocation.models), agent.model)
        if provider is None or not model or not output.ended:
            return None
        candidate = Candidate(provider, bare_model(model, (kind.provider,)))
        return self._prices.cost(candidate, output.input_tokens, output.output_tokens)


@contextmanager
def _schema_file(kind: AgentProgram, invocation: Invocation) -> Iterator[str]:
    """A file with the schema while the program runs, for one that can hold its model to it."""
    schema = closed(invocation.schema)
    if not kind.takes_schema_file or not isinstance(schema, dict) or not is_strict(schema):
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
    is_done = False

    def hurry() -> None:
        nonlocal is_done
        is_done = True
        if not deadline.expired():
            deadline.reschedule(min(last, clock() + LINGER_S))

    stream.when_ended = hurry
    try:
        async with asyncio.timeout_at(last) as deadline:
            finished = await run_program(program, stream.add, output_max=FOLLOWED_MAX)
    except TimeoutError:
        if not deadline.expired():
            raise
        if is_done:
            return Finished("", "", 0)
        raise ProviderError(
            f"agent {agent.name!r} took longer than {limit_s:g} s and was stopped; raise timeout "
            f"of the step, or timeout_s of [agents.{agent.name}]",
            code="P108",
            retryable=True,
        ) from None
    except ProviderError as fault:
        if fault.detail.get("exit_code") != NOT_FOUND:
            raise
        package = PROGRAMS[agent.kind].package
        advice = f"install it with `{package}`, or " if package else ""
        raise ProviderError(
            f"program {agent.program!r} of agent {agent.name!r} was not found on PATH; {advice}set "
            f"program in [agents.{agent.name}] of whorl.toml",
            code=fault.code,
            detail=fault.detail,
        ) from fault
    stream.end()
    return finished
