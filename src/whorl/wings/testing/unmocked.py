"""Who answers a call of a test that has no mock: what is real, a cassette, rules, own functions.

Real work is done beside the run, whose time stands still meanwhile. A call that is left is not
made.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from whorl import ir
from whorl.errors import ProviderError, UsageError
from whorl.lazily import dataclass
from whorl.providers.functions import Tasks
from whorl.providers.registry import KINDS, Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Emit, Estimate, Reply, Request
from whorl.services.files.preflight import refusal
from whorl.services.replay import Playing

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Sequence

    from whorl.language import Json
    from whorl.providers.settings import Settings
    from whorl.services.replay import Cassette
    from whorl.wings.testing.mocks import Mocks
    from whorl.wings.testing.step_keys import Key

T = TypeVar("T")

_MODELS = ("ask", "judge")
# What chooses a model, which a test has one of.
_CHOOSING = ("model", "provider", "model_url", "tools")
_SCRIPTED = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a test gives to a run beside its mocks; `settings` are for what is real."""

    inputs: dict[str, Json] = field(default_factory=dict)
    models: Sequence[Json] = ()
    cassette: Cassette | None = None
    real: Sequence[Key] = ()
    settings: Settings | None = None
    tasks: Tasks | None = None
    retries: bool = False
    max_iterations: int | None = None
    budget: float | None = None


class Unanswered(Exception):
    """A call that nothing answers: the test lacks something."""


class UnmockedCalls:
    """Who answers where there is no mock; real work is done beside the run, whose time stands."""

    def __init__(self, mocks: Mocks, setup: Setup, aside: _Aside) -> None:
        self._setup, self._aside = setup, aside
        self._mocks = mocks
        settings = setup.settings or settings_from({}, {})
        self.real = Providers(settings, setup.tasks)
        self._scripted = Providers(_scripted(setup.models), setup.tasks)
        cassette = setup.cassette
        self._player = None if cassette is None else Playing(cassette, None)

    def estimate(self, request: Request) -> Estimate:
        return Estimate() if self._player is None else self._player.estimate(request)

    def decision(self, address: str) -> dict[str, Json] | None:
        decisions = {} if self._setup.cassette is None else self._setup.cassette.decisions
        return decisions.get(address)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        if any(key.fits(request.address) for key in self._setup.real) or self._is_own(request):
            return self._aside.run(self.real.kind(request.kind).perform(request, emit))
        if self._player is not None:
            if request.address not in self._player.cassette.calls:
                raise Unanswered(f"neither a mock nor the cassette answers {_words(request)}")
            return await self._player.perform(request, emit)
        if self._setup.models and request.kind in _MODELS:
            own = {n: v for n, v in request.inputs.items() if n not in _CHOOSING}
            if tools := self._tools(request):
                own["tools"] = tools
            kind = self._scripted.kind(request.kind)
            try:
                return self._aside.run(kind.perform(replace(request, inputs=own), emit))
            except ProviderError as fault:
                raise Unanswered(str(fault)) if fault.code == "P112" else fault from None
        raise Unanswered(f"nothing is called in a test: {_words(request)} has no mock")

    def _tools(self, request: Request) -> list[Json]:
        """The tools that the test brings; others are not there."""
        tools = request.inputs.get("tools")
        functions = self._setup.tasks or Tasks()
        return [t for t in (tools if isinstance(tools, list) else []) if functions.get(str(t))]

    def _is_own(self, request: Request) -> bool:
        """Whether it is a function that the test brings, or costs and changes nothing."""
        functions, inputs = self._setup.tasks or Tasks(), request.inputs
        name = {"use": f"{inputs.get('task')}", "connector": f"connector:{inputs.get('action')}"}
        if functions.get(name.get(request.kind, "")) is not None:
            return True
        return request.kind in KINDS and self.real.effect(request.kind, inputs) == "none"

    async def close(self) -> None:
        await self.real.close()
        await self._scripted.close()


def _words(request: Request) -> str:
    inputs = request.inputs
    about = {"http": inputs.get("url"), "use": inputs.get("task"), "run": inputs.get("argv")}
    what = about.get(request.kind) or inputs.get("prompt") or inputs.get("question") or ""
    text = what if isinstance(what, str) else json.dumps(what)
    shown = f" {text[:60]!r}" if text else ""
    return f"the step {request.address!r} ({request.kind}{shown})"


def _scripted(rules: Sequence[Json]) -> Settings:
    """The settings of a test: one provider, which answers by rules."""
    provider = {"kind": "scripted", "model": "scripted", "replies": list(rules)}
    try:
        return settings_from({"providers": {_SCRIPTED: provider}}, {})
    except UsageError as fault:
        words = str(fault).replace(f"[providers.{_SCRIPTED}] replies", "models")
        raise UsageError(words, help=fault.help, code="W007") from None


class _Aside:
    """An event loop of its own, in a thread: the one of the run has a time that only jumps."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


@contextmanager
def open_others(mocks: Mocks, setup: Setup) -> Iterator[UnmockedCalls]:
    _check_real(mocks, setup)
    aside = _Aside()
    others = UnmockedCalls(mocks, setup, aside)
    try:
        yield others
    finally:
        aside.run(others.close())
        aside.close()


def _check_real(mocks: Mocks, setup: Setup) -> None:
    """What is real needs the same permission as in any run."""
    settings = setup.settings or settings_from({}, {})
    if setup.real and settings.untrusted is not None:
        raise settings.untrusted
    for step in mocks.steps:
        if isinstance(step.node, ir.Task) and any(key.means(step) for key in setup.real):
            alone = ir.Workflow(name=step.owner.name, body=ir.Block((step.node,)))
            if refused := refusal(alone, settings):
                raise UsageError(str(refused["message"]), code=str(refused["code"]))
