"""Who waits for whom: `depends_on`, and what the templates of an agent read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.orka.agents import called_by
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


def sorted_by_dependencies(draft: Draft, section: Section, names: list[str]) -> list[str]:
    """The names in their order, each behind those that it depends on."""
    waits = {name: _depends_on(section, name) & (set(names) - {name}) for name in names}
    found: list[str] = []
    left = list(names)
    while left:
        ready = next((name for name in left if waits[name] <= set(found)), None)
        if ready is None:
            _report_circle(draft, section, left)
            return [*found, *left]
        found.append(ready)
        left.remove(ready)
    return found


def dependencies(
    section: Section, name: str, before: list[str], steps: list[str]
) -> tuple[str, ...]:
    """What an agent waits for where independent agents run side by side."""
    agent = section.find(name)
    assert agent is not None
    found = {one for one in _depends_on(section, name) if one in steps and one != name}
    parts = [agent, *(part for called in called_by(agent) if (part := section.find(called)))]
    text = "\n".join(text for part in parts for text in texts_in(part.fields))
    reads_all = _ALL.search(text) is not None
    found |= {other for other in before if reads_all or reads(text, other)}
    if agent.type == "join":
        group = texts_of(agent.get("group"))
        forks = [one for one in before if _is_fork(section, one)]
        found |= set(group) & set(steps) if group else set(forks[-1:])
    if agent.type == "router":
        found |= set(texts_of(agent.get("decision_key"))) & set(before)
    for branched in called_by(agent):
        found |= {one for one in _depends_on(section, branched) if one in before}
    return tuple(one for one in steps if one in found)


def reads(text: str, name: str) -> bool:
    """Whether a template reads the result of an agent."""
    word = re.escape(name)
    pattern = rf"previous_outputs\.{word}(?![\w-])|['\"]{word}['\"]"
    return re.search(pattern, text) is not None


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
    draft.report(
        "W011",
        f"agents wait for each other: {', '.join(map(repr, names[:10]))}",
        None if agent is None else agent.span_of("depends_on"),
        label="waits for one of the others",
        help="take one of the names out of 'depends_on'",
    )
