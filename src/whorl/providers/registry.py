"""The kinds of tasks by name, created at their first use from one set of settings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from whorl.errors import UsageError, did_you_mean
from whorl.plugins import Plugins, formats, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.providers.outbound.connections import Resolve
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import Settings
    from whorl.providers.task import Context, Effect, Memories, TaskKind
    from whorl.providers.tools.tool_cache import KnownTools

KINDS = {
    "ask": "whorl.providers.asking:Ask",
    "judge": "whorl.providers.asking:Judge",
    "http": "whorl.providers.http:Http",
    "connector": "whorl.providers.function_task:Connector",
    "run": "whorl.providers.processes:Command",
    "agent": "whorl.providers.agents:Agent",
    "use": "whorl.providers.function_task:Use",
    "memory": "whorl.providers.memory:Memory",
    "tool": "whorl.providers.function_task:Tool",
    "validate": "whorl.providers.memory:Validate",
    "file_glob": "whorl.providers.files:FileGlob",
    "file_read": "whorl.providers.files:FileRead",
    "file_write": "whorl.providers.files:FileWrite",
}


def kinds() -> dict[str, str]:
    """Returns the kinds of tasks of the core and of formats."""
    return KINDS | joined(each.tasks for each in formats())


class Providers:
    # Whether mocks answer instead, so that nothing is sent.
    is_mocked = False

    def __init__(
        self, settings: Settings, functions: Tasks | None = None, *, resolve: Resolve | None = None
    ) -> None:
        self.settings = settings
        self._functions = functions
        self._resolve = resolve
        self._plugins = Plugins("whorl.tasks", kinds())
        self._kinds: dict[str, TaskKind] = {}
        self.memories: Memories | None = None
        # The hashes of tool descriptions that a run has received, by its journal.
        self.tool_pins: Callable[[str], Mapping[str, str]] = lambda run: {}
        # The tool descriptions that earlier runs of the project have received.
        self.known_tools: KnownTools | None = None

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return self.settings.secrets()

    @property
    def functions(self) -> Tasks:
        """The functions that workflows call by name; a program adds those that it calls."""
        return self.context.functions

    @cached_property
    def context(self) -> Context:
        from whorl.providers.functions import ProgramTasks, Threads
        from whorl.providers.models.client import Models
        from whorl.providers.outbound.addresses import Policy
        from whorl.providers.outbound.client import Outbound
        from whorl.providers.task import Context
        from whorl.providers.tools.servers import Servers

        outbound = Outbound(Policy.of(self.settings), secrets=self.secrets, resolve=self._resolve)
        return Context(
            settings=self.settings,
            outbound=outbound,
            models=Models(self.settings, outbound),
            functions=self._functions or ProgramTasks(self.settings.programs, self.settings),
            servers=Servers(self.settings, outbound, self._earlier_pins, lambda: self.known_tools),
            plugin=self._plugin,
            threads=Threads(),
            memories=lambda: self.memories,
        )

    def kind(self, name: str) -> TaskKind:
        """Returns the kind of task of that name. Raises UsageError P114 with the nearest one."""
        if name not in self._kinds:
            if not self._plugins.has(name):
                names = self._plugins.names()
                near = did_you_mean(name, names) or f"known kinds: {', '.join(names)}"
                raise UsageError(f"there is no task of kind {name!r}", help=near, code="P114")
            make = cast("Callable[[Context], TaskKind]", self._plugins.load(name))
            self._kinds[name] = make(self.context)
        return self._kinds[name]

    def _earlier_pins(self, run: str) -> Mapping[str, str]:
        return self.tool_pins(run)

    def _plugin(self, name: str) -> TaskKind | None:
        is_other = name not in self._plugins.built_in and self._plugins.has(name)
        return self.kind(name) if is_other else None

    def effect(self, name: str, inputs: Mapping[str, Json] | None = None) -> Effect:
        """Returns the effect of a task; for `use`, that of the task that `inputs` names."""
        kind = self.kind(name)
        if name == "use" and inputs is not None:
            from whorl.providers.function_task import Use

            if isinstance(kind, Use):
                return kind.effect_of(str(inputs.get("task", "")))
        return kind.effect

    async def check_provider(self, name: str) -> str:
        """Checks a provider; returns a description of its answer. Raises ProviderError."""
        from whorl.providers.models.client import choose_models

        # A check asks for no model.
        [chosen] = choose_models(self.settings, {"provider": name, "model": "-"}).candidates
        return await self.context.models.check(chosen.provider)

    async def close(self) -> None:
        if "context" in vars(self):
            self.context.threads.close()
            await self.context.servers.close()
            await self.context.outbound.close()
