"""Entry points: what other packages add, loaded by name and only when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from whorl.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

Group: TypeAlias = Literal[
    "whorl.tasks", "whorl.providers", "whorl.dialects", "whorl.libraries", "whorl.histories"
]


class Plugins:
    """The names of one group: our own, given as `module:name`, and those of other packages.

    Our own are loaded the same way as everybody's; other packages are looked at only when a name
    is not one of ours, because the search reads the metadata of every installed package.
    """

    def __init__(self, group: Group, built_in: Mapping[str, str]) -> None:
        self.group = group
        self._built_in = dict(built_in)
        self._loaded: dict[str, object] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self._built_in, *self._installed]))

    def has(self, name: str) -> bool:
        return name in self._built_in or name in self._installed

    def load(self, name: str, *, code: str = "W022") -> object:
        """What stands behind the name; raises UsageError with the name and the cause."""
        if name not in self._loaded:
            reference = self._built_in.get(name) or self._installed.get(name)
            if reference is None:
                raise UsageError(
                    f"{self.group} has no {name!r}",
                    help=did_you_mean(name, self.names()) or f"known: {', '.join(self.names())}",
                    code=code,
                )
            try:
                self._loaded[name] = load_reference(reference)
            # The code of a plugin may raise anything, and the one who asked must learn its name.
            except Exception as cause:
                raise UsageError(
                    f"plugin {name!r} of {self.group} ({reference}) does not load: "
                    f"{type(cause).__name__}: {cause}",
                    help="install its missing parts, or remove the package",
                    code="W025",
                ) from cause
        return self._loaded[name]

    @cached_property
    def _installed(self) -> dict[str, str]:
        from importlib.metadata import entry_points

        return {entry.name: entry.value for entry in entry_points(group=self.group)}


def load_reference(reference: str) -> object:
    """The object that `module:name` names; raises ImportError."""
    from importlib import import_module

    module_name, _, name = reference.partition(":")
    module = import_module(module_name.strip())
    value: object = vars(module).get(name.strip())
    if value is None:
        raise ImportError(f"module {module_name!r} has no {name!r}")
    return value
