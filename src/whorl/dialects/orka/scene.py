"""Where an agent stands: its section, the agents that are known there, and the loop around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from whorl.dialects.orka.agents import called_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl import ir
    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json

    ReadBlock: TypeAlias = Callable[[Draft, "Scene"], ir.Block]
    ReadNode: TypeAlias = Callable[[Draft, Agent, "Common", "Scene"], ir.Node]


class Common(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    after: tuple[ir.After, ...]
    when: ir.Expression | None
    on_failure: Literal["halt", "continue"]
    timeout_s: float | None
    place: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The agents that templates may ask for by name, in the order in which they run."""

    agents: tuple[str, ...] = ()
    forks: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    here: tuple[str, ...] = ()

    def inside(self, section: Section) -> Flow:
        """The same, with the agents of a section."""
        names = names_in(section)
        kinds = {name: found.type for name in names if (found := section.find(name)) is not None}

        def of(kind: str) -> tuple[str, ...]:
            return tuple(name for name in names if kinds.get(name) == kind)

        return Flow(
            (*(name for name in self.agents if name not in names), *names),
            (*self.forks, *of("fork")),
            (*self.joins, *of("join")),
            (*self.loops, *of("loop")),
            tuple(names),
        )

    def told(self) -> dict[str, Json]:
        """What the functions of the library are told about the agents."""
        return {
            "agents": list(self.agents),
            "forks": list(self.forks),
            "joins": list(self.joins),
            "loops": list(self.loops),
            "here": list(self.here),
        }


@dataclass(frozen=True, slots=True)
class Scene:
    """What is around the agents of a section. `criteria` are those by which its loop scores."""

    section: Section
    flow: Flow
    read_block: ReadBlock
    path: str = ""
    criteria: str = ""
    is_loop: bool = False

    def path_of(self, name: str) -> str:
        """The path of a node of this section."""
        return f"{self.path}/{name}" if self.path else name


def names_in(section: Section) -> list[str]:
    """All agents that a section can run, each after the one that calls it."""
    found: dict[str, None] = {}
    waiting = list(reversed(section.order))
    while waiting:
        name = waiting.pop()
        agent = section.find(name)
        if agent is None or name in found:
            continue
        found[name] = None
        # What a router may send the run to and stands in the order has its own place there.
        apart = section.order if agent.type == "router" else ()
        waiting.extend(one for one in reversed(called_by(agent)) if one not in apart)
    return list(found)
