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
from whorl.providers.agents.claude import Claude
from whorl.providers.agents.codex import Codex
from whorl.providers.agents.gemini import Gemini
from whorl.providers.agents.order import cost_limit, order_of
from whorl.providers.agents.plain import Plain
from whorl.providers.agents.reply import reply_of, said_in
from whorl.providers.agents.runner import Means, bare_model
from whorl.providers.agents.stream import Stream, read_again
from whorl.providers.command import folder_in
from whorl.providers.inputs import Inputs
from whorl.providers.models.prices import Prices
from whorl.providers.models.strict import closed, is_strict
from whorl.providers.models.wire import Candidate
from whorl.providers.programs import Finished, Program, run_program
from whorl.providers.settings.agents import agents_from
from whorl.providers.settings.known import KNOWN
from whorl.providers.task import Estimate
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.agents.order import Order
    from whorl.providers.agents.runner import Runner, Said
    from whorl.providers.context import Context
    from whorl.providers.settings.agents import AgentSettings
    from whorl.providers.task import Effect, Emit, Reply, Request

# How much of an output is followed as it comes; of a longer one the end is read when it is over.
FOLLOWED_MAX = 16_000_000
# How long a program may live on after it has said that its work is over.
LINGER_S = 60.0
NOT_FOUND = 127


class Agent:
    """Inputs: agent, prompt, system, model, folder, permission_mode, max_turns, max_cost_usd,
    tools, session, keep_session, whole.

    The value is the agent's last words, or what `returns` describes; with `whole` it is an object
    `{text, value, session, model, exit_code}`. The detail holds `session`, to go on with.
    """

    effect: Effect = "priced"

    def __init__(self, context: Context) -> None:
        self._settings = context.settings
        self._prices = Prices(context.settings)

    def estimate(self, request: Request) -> Estimate:
        """One call; its price is not known before it is over, unless the author limits it."""
        return Estimate(calls=1, cost_usd=cost_limit(Inputs("agent", request.inputs)))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Has the work done. Raises ProviderError; P105 when the answer does not fit `returns`."""
        order = order_of(request)
        agent = self._agent(order.agent)
        runner = RUNNERS[agent.kind]
        self._check_leave(agent)
        secrets = self._settings.secrets()
        with _schema_file(runner, order) as schema_file:
            program = self._program(order, agent, runner, schema_file)
            reader = runner.reader(order)
            stream = Stream(reader, emit, secrets)
            limit_s = request.timeout_s or agent.timeout_s
            finished = await _run(program, stream, agent, runner, limit_s=limit_s)
        said = said_in(finished, reader, stream)
        if not said.ended and finished.cut:
            said = _said_at_the_end(runner, order, finished, said)
        cost_usd = self._cost(runner, order, agent, said)
        return reply_of(order, said, finished, cost_usd=cost_usd, secrets=secrets)

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

    def _check_leave(self, agent: AgentSettings) -> None:
        allowed = self._settings.allow.commands
        if allowed is True or (isinstance(allowed, tuple) and agent.program in allowed):
            return
        raise ProviderError(
            f"commands are not allowed: {agent.program!r} of agent {agent.name!r} was not started; "
            f'to allow it, set [allow] commands = true, or commands = ["{agent.program}"], in '
            "whorl.toml",
            code="R110",
        )

    def _program(
        self, order: Order, agent: AgentSettings, runner: Runner, schema_file: str
    ) -> Program:
        provider = self._settings.providers.get(runner.provider)
        key, base_url = "", ""
        if provider is not None and provider.api_key is not None:
            key = provider.api_key.reveal()
            usual = KNOWN[runner.provider].base_url
            base_url = provider.base_url if provider.base_url != usual else ""
        means = Means(str(uuid4()), schema_file, base_url)
        command = runner.command(order, agent, means=means)
        environment = {**self._settings.environment, **runner.environment(key, base_url)}
        return Program(
            argv=command.argv,
            environment={**environment, **agent.variables()},
            folder=folder_in(self._settings.project_root, order.folder),
            stdin=clean(command.stdin).encode(),
        )

    def _cost(self, runner: Runner, order: Order, agent: AgentSettings, said: Said) -> float | None:
        """What the program told, or the price of its tokens where its model and key are known."""
        if said.cost_usd is not None:
            return said.cost_usd
        provider = self._settings.providers.get(runner.provider)
        model = said.model or next(iter(order.models), agent.model)
        if provider is None or provider.api_key is None or not model or not said.ended:
            return None
        model = bare_model(model, (runner.provider,))
        return self._prices.cost(Candidate(provider, model), said.input_tokens, said.output_tokens)


RUNNERS: dict[str, Runner] = {
    runner.kind: runner for runner in (Claude(), Codex(), Gemini(), Plain())
}


@contextmanager
def _schema_file(runner: Runner, order: Order) -> Iterator[str]:
    """A file with the schema while the program runs, for one that can hold its model to it."""
    schema = closed(order.schema)
    if not runner.takes_schema_file or not isinstance(schema, dict) or not is_strict(schema):
        yield ""
        return
    with TemporaryDirectory(prefix="whorl-") as folder:
        path = Path(folder) / "schema.json"
        path.write_text(json.dumps(schema), encoding="utf-8")
        yield str(path)


async def _run(
    program: Program, stream: Stream, agent: AgentSettings, runner: Runner, *, limit_s: float
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
        how = f"install it with `{runner.package}`, or " if runner.package else ""
        raise ProviderError(
            f"program {agent.program!r} of agent {agent.name!r} was not found on PATH; {how}set "
            f"program in [agents.{agent.name}] of whorl.toml",
            code=fault.code,
            detail=fault.detail,
        ) from fault
    stream.end()
    return finished


def _said_at_the_end(runner: Runner, order: Order, finished: Finished, said: Said) -> Said:
    """What the end of an output says that was too long to be followed."""
    reader = runner.reader(order)
    if reader is None:
        return said
    read_again(reader, finished.stdout)
    return reader.said
