"""What a kind of task is made from: the settings and the shared ways to the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.providers.functions import Functions
    from whorl.providers.models.asking import Models
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import Settings
    from whorl.providers.task import TaskKind


@dataclass(frozen=True, slots=True)
class Context:
    """Given to every kind of task when it is first used, ours and those of plugins.

    `plugin` finds the kind of task that another package adds under a name, if one does.
    """

    settings: Settings
    outbound: Outbound
    models: Models
    functions: Functions
    plugin: Callable[[str], TaskKind | None]
