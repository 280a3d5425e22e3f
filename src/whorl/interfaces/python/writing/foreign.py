"""Agents, runnables and graphs of other packages as functions, known by their methods alone.

A runnable of LangChain and a graph of LangGraph have `ainvoke`, an agent of Pydantic AI has `run`
and `run_sync`. None of these packages is imported.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.providers.functions import current_call

if TYPE_CHECKING:
    from collections.abc import Callable


def adapted(thing: Any) -> Callable[..., Any]:
    """Returns a function that runs the thing; raises UsageError if its kind is unknown."""
    if inspect.isroutine(thing):
        return thing
    if callable(getattr(thing, "ainvoke", None)):
        return _runnable(thing)
    if callable(getattr(thing, "run", None)) and callable(getattr(thing, "run_sync", None)):
        return _agent(thing)
    if callable(thing):
        return thing  # type: ignore[no-any-return]
    raise UsageError(
        f"{thing!r:.80} is not a step: it is not a function, an agent, a runnable or a graph",
        help="give a function that uses it",
    )


def _runnable(thing: Any) -> Callable[..., Any]:
    async def invoke(input: Any) -> Any:  # noqa: A002 - what LangChain calls it
        given = await thing.ainvoke(input)
        used = getattr(given, "usage_metadata", None)
        if isinstance(used, dict):
            current_call().used(used.get("input_tokens", 0), used.get("output_tokens", 0))
        return given

    return invoke


def _agent(thing: Any) -> Callable[..., Any]:
    async def run(prompt: str) -> Any:
        given = await thing.run(prompt)
        used = getattr(given, "usage", None)
        if used is not None and not hasattr(used, "input_tokens"):
            # A method, in earlier versions.
            used = used()
        if used is not None:
            tokens = (getattr(used, f"{side}_tokens", 0) or 0 for side in ("input", "output"))
            current_call().used(*tokens)
        return getattr(given, "output", given)

    return run
