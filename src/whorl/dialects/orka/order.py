"""Who waits for whom: `depends_on`, and what the templates of an agent read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.orka.agents import behind_each_other, called_by
from whorl.dialects.orka.values import texts_of
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.draft import Draft
    from whorl.source import Value

# Templates that read the results of all agents before them.
_ALL = re.compile(
    r"previous_outputs(?![\w.\[])|joined_results|get_execution_artifacts|get_fork_responses"
    r"|get_collaborative_responses|previous_outputs\.(?:items|values|keys)\("
)
_MEMBER = re.compile(r"previous_outputs\.([\w-]++)")
_QUOTE = re.compile(r"['\"]")
_PLAIN = re.compile(r"[\w-]++")


def sorted_by_dependencies(draft: Draft, section: Section, names: list[str]) -> list[str]:
    """The names in their order, each behind those that it depends on."""
    known = set(names)
    waits = {name: (_depends_on(section, name) & known) - {name} for name in names}
    found = behind_each_other(names, waits)
    placed = set(found)
    left = [name for name in names if name not in placed]
    if left:
        _report_circle(draft, section, left)
    return [*found, *left]


def dependencies(
    section: Section, name: str, steps: tuple[list[str], list[str]], read: dict[str, Words]
) -> tuple[str, ...]:
    """What an agent waits for, of the steps before it and of all, where agents run side by side.

    `read` keeps what the texts of agents read.
    """
    before, all_steps = steps
    agent = section.find(name)
    assert agent is not None
    known = set(all_steps)
    found = (_depends_on(section, name) & known) - {name}
    for part in [agent, *(part for called in called_by(agent) if (part := section.find(called)))]:
        if part.id not in read:
            read[part.id] = Words.of("\n".join(texts_in(part.fields)))
        found.update(read[part.id].among(before))
    if agent.type == "join":
        group = texts_of(agent.get("group"))
        forks = [one for one in before if _is_fork(section, one)]
        found |= set(group) & known if group else set(forks[-1:])
    if agent.type == "router":
        found |= set(texts_of(agent.get("decision_key"))) & set(before)
    for branched in called_by(agent):
        found |= _depends_on(section, branched) & set(before)
    return tuple(one for one in all_steps if one in found)


def reads(text: str, name: str) -> bool:
    """Whether a template reads the result of an agent."""
    word = re.escape(name)
    pattern = rf"previous_outputs\.{word}(?![\w-])|['\"]{word}['\"]"
    return re.search(pattern, text) is not None


@dataclass(frozen=True, slots=True)
class Words:
    """What a template may read: the names after `previous_outputs.`, and those in quotes."""

    text: str
    names: frozenset[str]
    reads_all: bool

    @classmethod
    def of(cls, text: str) -> Words:
        """Looks at a text once for all names."""
        quoted = _QUOTE.split(text)[1:-1]
        return cls(
            text, frozenset((*_MEMBER.findall(text), *quoted)), _ALL.search(text) is not None
        )

    def among(self, names: list[str]) -> Iterator[str]:
        """Those of the names that it reads."""
        for name in names:
            plain = _PLAIN.fullmatch(name) is not None
            if self.reads_all or name in self.names or (not plain and reads(self.text, name)):
                yield name


def texts_in(value: Value) -> Iterator[str]:
    """All texts in a part of a file."""
    match value:
        case Scalar():
            if isinstance(value.value, str):
                yield value.value
        case Sequence():
            for item in value:
                yield from texts_in(item)
        case Mapping():
            for entry in value:
                if entry.name not in ("id", "depends_on"):
                    yield from texts_in(entry.value)


def _depends_on(section: Section, name: str) -> set[str]:
    agent = section.find(name)
    return set() if agent is None else set(texts_of(agent.get("depends_on")))


def _is_fork(section: Section, name: str) -> bool:
    agent: Agent | None = section.find(name)
    return agent is not None and agent.type == "fork"


def _report_circle(draft: Draft, section: Section, names: list[str]) -> None:
    agent = section.find(names[0])
    message = f"agents wait for each other: {', '.join(map(repr, names[:10]))}"
    span = None if agent is None else agent.span_of("depends_on")
    advice = "take one of the names out of 'depends_on'"
    draft.report("W011", message, span, label="waits for one of the others", help=advice)
