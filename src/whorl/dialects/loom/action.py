"""One action while it is read: its settings, which stand beside its type or under `inputs`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.loom.draft import Draft
    from whorl.errors import Span
    from whorl.language import Json
    from whorl.source import Value


@dataclass(frozen=True, slots=True)
class Around:
    """A loop around an action: its names, where its facts stand, and what its result is."""

    names: tuple[str, ...]
    place: str
    ends: list[Json]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where an action stands: its path, the loops around it, and whether one is a for-each."""

    path: str = ""
    loops: tuple[Around, ...] = ()
    is_in_each: bool = False
    is_parallel: bool = False

    def below(self, path: str) -> str:
        """The path of something inside."""
        return f"{self.path}/{path}" if self.path else path


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the file."""

    draft: Draft
    name: str
    type: str
    fields: Mapping
    span: Span
    scene: Scene = field(default_factory=Scene)

    @property
    def inputs(self) -> Value | None:
        """What stands under `inputs`."""
        return find(self.fields, "inputs")

    @property
    def path(self) -> str:
        """The path of the action's node."""
        return self.scene.below(self.name)

    def setting(self, *names: str) -> Value | None:
        """A setting under the first of these names that is there, beside the type or in `inputs`.

        Neither place counts more in the files that exist; no file has a setting in both.
        """
        inputs = self.inputs
        for name in names:
            for holder in (self.fields, inputs):
                found = find(holder, name) if isinstance(holder, Mapping) else None
                if found is not None:
                    return found
        return None

    def text(self, *names: str) -> str:
        """A setting as text; empty where it is absent or no text."""
        found = self.setting(*names)
        return found.text if isinstance(found, Scalar) and found.value is not None else ""


def find(holder: Value | None, name: str) -> Value | None:
    """The value of a key, case aside where no key has this very name."""
    if not isinstance(holder, Mapping):
        return None
    exact = holder.get(name)
    if exact is not None:
        return exact
    lowered = name.lower()
    return next((entry.value for entry in holder if entry.name.lower() == lowered), None)


def find_deep(holder: Value | None, *names: str) -> Value | None:
    """The value at the end of a path of keys."""
    for name in names:
        holder = find(holder, name)
    return holder


def text_at(holder: Value | None, *names: str) -> str:
    """The text at the end of a path of keys; empty where there is none."""
    found = find_deep(holder, *names)
    return found.text if isinstance(found, Scalar) and found.value is not None else ""
