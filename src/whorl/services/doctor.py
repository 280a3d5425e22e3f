"""Checks that the configured models, MCP servers, agents, tasks and keys can be used.

Each check calls the code that a run uses, so that both agree.
"""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whorl.errors import ProviderError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from pathlib import Path

    from whorl.providers.registry import Providers
    from whorl.providers.settings import AgentSettings, Settings, ToolServer

PROVIDER_TIMEOUT_S = 30.0
# What is looked at; whether it can be used, and how it stands.
Look: TypeAlias = "tuple[str, Awaitable[tuple[bool, str]]]"


class Finding(NamedTuple):
    """The result of one check, and the command that repairs it, if one does."""

    what: str
    ok: bool
    words: str
    repair: str = ""


async def configured(settings: Settings, known_tools: Path) -> list[Finding]:
    """Runs all checks; starts and calls servers, but no model. `known_tools` may be missing."""
    from whorl.providers.registry import Providers

    providers = Providers(settings)
    if known_tools.exists():
        from whorl.providers.tools.tool_cache import KnownTools

        providers.known_tools = KnownTools(known_tools, settings.secrets())
    _ = providers.context.models  # loads what asks them, which is no part of the time to answer
    try:
        looks = _looks(settings, providers)
        return [*await asyncio.gather(*(_found(what, look) for what, look in looks))]
    finally:
        await providers.close()


async def _found(what: str, look: Awaitable[tuple[bool, str]]) -> Finding:
    try:
        async with asyncio.timeout(PROVIDER_TIMEOUT_S):
            return Finding(what, *await look)
    except TimeoutError:
        return Finding(what, False, "no answer in time")
    except (ProviderError, UsageError) as fault:
        return Finding(what, False, str(fault))


def _looks(settings: Settings, providers: Providers) -> Iterator[Look]:
    from whorl.providers.settings.sections import agents_from

    yield "model", _model(settings, "")
    if settings.judge_model:
        yield "judge", _model(settings, settings.judge_model)
    for name in settings.providers:
        is_default = " (default)" if name == settings.default_provider else ""
        yield f"provider {name}{is_default}", _provider(providers, name)
    for server in settings.mcp.values():
        yield f"MCP server {server.name}", _server(providers, server)
    # Others than those that the operator has configured are known by name alone.
    usual = agents_from({}, {})
    for name, agent in settings.agents.items():
        if usual.get(name) != agent:
            yield f"agent {name}", _agent(settings, agent)
    for name, place in settings.tasks.items():
        yield f"task {name}", _task(settings, place)
    for name in settings.keys:
        yield f"key {name}", _key(settings, name)


async def _model(settings: Settings, named: str) -> tuple[bool, str]:
    """Checks the default model or judge, for files that name no model."""
    from whorl.providers.models.client import choose_models

    [chosen] = choose_models(settings, {"model": named}).candidates
    if not settings.providers:
        advice = "set OPENAI_API_KEY or the like, or add [providers.NAME] to whorl.toml"
        return True, f"the built-in toy model, since no provider is configured; {advice}"
    return True, f"{chosen.provider.name}/{chosen.model}, if a file names none"


async def _provider(providers: Providers, name: str) -> tuple[bool, str]:
    return True, await providers.check_provider(name)


async def _server(providers: Providers, server: ToolServer) -> tuple[bool, str]:
    """Starts or calls the MCP server, and compares its tools with the allowed ones."""
    async with asyncio.timeout(server.timeout_s):
        listed = [tool.name for tool in await providers.context.servers.tools(server.name, "")]
    for name in server.tools or ():
        if name not in listed:
            near = f"; {near}" if (near := did_you_mean(name, listed)) else ""
            words = f"tools of [mcp.{server.name}] names {name!r}, which it does not have{near}"
            return False, words
    return True, f"tools: {', '.join(listed) or 'none'}"


async def _agent(settings: Settings, agent: AgentSettings) -> tuple[bool, str]:
    from whorl.providers.processes import check_permission

    check_permission(settings, agent.program, f"{agent.program!r} of agent {agent.name!r}")
    found = shutil.which(agent.program, path=settings.environment.get("PATH"))
    return found is not None, found or f"the program {agent.program!r} is not found"


async def _task(settings: Settings, place: str) -> tuple[bool, str]:
    from whorl.providers.functions import import_function

    if not place.startswith("python:"):
        return True, f"{place}, which is not called here"
    import_function(place, settings)
    return True, place


async def _key(settings: Settings, name: str) -> tuple[bool, str]:
    key, missing = settings.keys[name], "empty: the variable that it names is not set, or is empty"
    return bool(key.headers), f"for {key.url}" if key.headers else missing
