"""The files of the workflows that are called, by names that do not clash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.writing.writer import file_name

if TYPE_CHECKING:
    from whorl import ir

_ENDINGS = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Companions:
    """Every workflow that is called, with the name of its file; `taken` are other files' names."""

    workflows: dict[str, ir.Workflow]
    taken: set[str]
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in self.workflows:
            self.names[key] = self._free(_stem(key))
            self.taken.add(self.names[key])

    def _free(self, stem: str) -> str:
        name, number = f"{stem}.yaml", 2
        while name in self.taken:
            name, number = f"{stem}-{number}.yaml", number + 1
        return name


def _stem(key: str) -> str:
    name = key.replace("\\", "/").rpartition("/")[2]
    ending = next((e for e in _ENDINGS if name.endswith(e)), "")
    return file_name(name.removesuffix(ending))
