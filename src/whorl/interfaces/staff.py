"""The providers as a driver needs them: who performs tasks, and what must not be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.redaction import redact

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.task import Effect, TaskKind


class Staff:
    """Implements `Workers` with the configured providers."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._secrets = providers.secrets

    def kind(self, name: str) -> TaskKind:
        """The kind of task of a name."""
        return self._providers.kind(name)

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """What performing a task of this kind with these inputs does to the world."""
        return self._providers.effect(name, inputs)

    def redacted(self, value: Json) -> Json:
        """The same value without the operator's secrets."""
        return redact(value, self._secrets)
