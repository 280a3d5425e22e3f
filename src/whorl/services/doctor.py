"""Whether what the configuration names can be used: models, MCP servers, agents, tasks, keys.

Each answer comes from the code that a run uses, so that both say the same.
"""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, NamedTuple

from whorl.errors import ProviderError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whorl.providers.registry import Providers
    from whorl.providers.settings import AgentSettings, Settings, ToolServer

PROVIDER_TIMEOUT_S = 30.0


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    ok: bool
    words: str


async def configured(settings: Settings, known_tools: Path) -> list[Finding]:
    """What was found; servers are started and asked, no model is. `known_tools` may be missing."""
    from whorl.providers.registry import Providers

    providers = Providers(settings)
    if known_tools.exists():
        from whorl.providers.tools.tool_cache import KnownTools

        providers.known_tools = KnownTools(known_tools, settings.secrets())
    _ = providers.context.models  # loads what asks them, which is no part of the time to answer
    try:
        asked = await asyncio.gather(
            *(_provider(providers, name) for name in settings.providers),
            *(_server(providers, server) for server in settings.mcp.values()),
        )
    finally:
        await providers.close()
    return [*_models(settings), *asked, *_agents(settings), *_tasks(settings), *_keys(settings)]


def _models(settings: Settings) -> Iterator[Finding]:
    """Who is asked where a file names no model, and who judges."""
    from whorl.providers.models.selection import choose_models

    roles = {"model": "", "judge": settings.judge_model}
    for what, named in roles.items():
        if what == "judge" and not named:
            continue
        try:
            [chosen] = choose_models(settings, {"model": named}).candidates
        except ProviderError as fault:
            yield Finding(what, False, str(fault))
            continue
        words = f"{chosen.provider.name}/{chosen.model}, if a file names none"
        if not settings.providers:
            advice = "set OPENAI_API_KEY or the like, or add [providers.NAME] to whorl.toml"
            words = f"the embedded toy model, since no provider is configured; {advice}"
        yield Finding(what, True, words)


async def _provider(providers: Providers, name: str) -> Finding:
    is_default = " (default)" if name == providers.settings.default_provider else ""
    what = f"provider {name}{is_default}"
    try:
        async with asyncio.timeout(PROVIDER_TIMEOUT_S):
            check = await providers.check_provider(name)
    except TimeoutError:
        return Finding(what, False, f"no answer within {PROVIDER_TIMEOUT_S:g} s")
    except (ProviderError, UsageError) as fault:
        return Finding(what, False, str(fault))
    return Finding(what, check.ok, check.message)


async def _server(providers: Providers, server: ToolServer) -> Finding:
    """Starts or asks the MCP server, and compares its tools with those that are allowed."""
    what = f"MCP server {server.name}"
    try:
        async with asyncio.timeout(min(server.timeout_s, PROVIDER_TIMEOUT_S)):
            listed = [tool.name for tool in await providers.context.servers.tools(server.name, "")]
    except TimeoutError:
        limit_s = min(server.timeout_s, PROVIDER_TIMEOUT_S)
        return Finding(what, False, f"no answer within {limit_s:g} s")
    except ProviderError as fault:
        return Finding(what, False, str(fault))
    for name in server.tools or ():
        if name not in listed:
            near = f"; {near}" if (near := did_you_mean(name, listed)) else ""
            words = f"tools of [mcp.{server.name}] names {name!r}, which it does not have{near}"
            return Finding(what, False, words)
    return Finding(what, True, f"tools: {', '.join(listed) or 'none'}")


def _agents(settings: Settings) -> Iterator[Finding]:
    """The agents that the operator has configured; others are known by name alone."""
    from whorl.providers.settings.sections import agents_from

    usual = agents_from({}, {})
    for name, agent in settings.agents.items():
        if usual.get(name) != agent:
            yield _agent(settings, agent)


def _agent(settings: Settings, agent: AgentSettings) -> Finding:
    from whorl.providers.processes import check_permission

    what = f"agent {agent.name}"
    try:
        check_permission(settings, agent.program, f"{agent.program!r} of agent {agent.name!r}")
    except ProviderError as fault:
        return Finding(what, False, str(fault))
    found = shutil.which(agent.program, path=settings.environment.get("PATH"))
    if found is None:
        return Finding(what, False, f"the program {agent.program!r} is not found")
    return Finding(what, True, found)


def _tasks(settings: Settings) -> Iterator[Finding]:
    from whorl.providers.functions import import_function

    for name, place in settings.tasks.items():
        if not place.startswith("python:"):
            yield Finding(f"task {name}", True, f"{place}, which is not called here")
            continue
        try:
            import_function(place, settings)
        except ProviderError as fault:
            yield Finding(f"task {name}", False, str(fault))
        else:
            yield Finding(f"task {name}", True, place)


def _keys(settings: Settings) -> Iterator[Finding]:
    for key in settings.keys.values():
        missing = "empty: the variable that it names is not set, or is empty"
        words = f"for {key.url}" if key.headers else missing
        yield Finding(f"key {key.name}", bool(key.headers), words)
