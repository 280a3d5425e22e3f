"""Scouts, which choose the agents that run next, and executors, which run those of a path.

The agents of a path run one after the other in a for-each; what they give is kept in a variable,
so that those behind them read it as they read what agents of the row gave.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import is_true, number_of
from whorl.errors import did_you_mean
from whorl.formats.orka import agents, tasks
from whorl.formats.orka.outputs import FAILED, RAN
from whorl.formats.orka.scouts import scouting
from whorl.formats.orka.scouts.paths import PATH_MAX
from whorl.formats.orka.tasks import computed, literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.orka.agents import Agent
    from whorl.formats.orka.sections import Section

USUAL_SOURCE = "validated_path"
_AGENT = "chosen_agent"
_TERMINAL = ("answer_emit", "response_generation")
_TERMINAL_IDS = ("response_builder", "answer_builder", "final_response", "llm_response")
_ON_FAILURE = ("continue", "abort")
_UNTOKENED = re.compile(r"\s+")


def read_scout(agent: Agent, section: Section, read_agent: Callable[[str], ir.Node]) -> ir.Node:
    """A scout; in a row it runs the agents that it chooses, unless an executor does."""
    settings = _settings(agent, section)
    listed = literal(settings)
    question = tasks.read_prompt(agent, "prompt") or tasks.template("{{ get_input() }}{{ '' }}")
    nodes: list[ir.Node] = [
        ir.Compute(name="scout_question", value=question),
        ir.Compute(name="scout_options", value=computed("orka_options", "scout_question", listed)),
    ]
    opinion: list[tuple[str, ir.Value]] = []
    has_paths = ir.Expression("jinja", "scout_options.paths")
    if is_true(agent.get("brain_assisted")):
        asked = ir.Fields(
            (
                ("paths", computed("orka_option_paths", "scout_options")),
                ("question", ir.Expression("jinja", "scout_question")),
            )
        )
        advice = tasks.amend("scout_advice", "brain/skills", "advise", asked)
        nodes.append(replace(advice, when=has_paths))
        opinion.append(("advice", computed("orka_value", literal("scout_advice"))))
    if is_true(agent.get("llm_evaluation_enabled")):
        prompt = computed("orka_scout_asks", "scout_question", "scout_options", listed)
        falls_back = settings["fallback_to_heuristics"] is True
        nodes.append(
            replace(
                tasks.ask(agent, prompt=prompt),
                name="scout_opinion",
                when=has_paths,
                on_failure="continue" if falls_back else "halt",
                place=agent.place,
            )
        )
        opinion.append(("said", computed("orka_value", literal("scout_opinion"))))
    nodes.append(ir.Compute(name="scout_opinions", value=ir.Fields(tuple(opinion))))
    arguments = ("scout_question", "scout_options", "scout_opinions", listed)
    # Under the scout's own name, so that the agents of its path can read it.
    nodes.append(ir.Compute(name=agent.id, value=computed("orka_decide", *arguments)))
    names = [other.id for other in _scouted(agent, section)]
    if names and not section.is_loop and not _is_read(agent, section):
        followed = computed("orka_followed", f"results[{literal(agent.id)}]")
        path = {name: read_agent(name) for name in names}
        nodes.append(_run(followed, path, needs_last=True))
    shape = ir.Expression("jinja", f"it[{literal(agent.id)}]")
    return ir.Group(name=agent.id, body=ir.Block(_in_a_row(nodes)), shape=shape)


def _in_a_row(nodes: list[ir.Node]) -> tuple[ir.Node, ...]:
    rows = [nodes[0]]
    for node in nodes[1:]:
        rows.append(replace(node, after=(ir.After(rows[-1].name),)))
    return tuple(rows)


def _is_read(agent: Agent, section: Section) -> bool:
    """Whether an executor runs what a scout chooses."""
    readers = (other for other in section.visible.values() if other.type == "path_executor")
    return any(other.text("path_source").split(".")[0] == agent.id for other in readers)


def _settings(agent: Agent, section: Section) -> dict[str, object]:
    """What a scout goes by: its numbers, and the agents that it may choose."""
    settings: dict[str, object] = {}
    for name, usual in scouting.USUAL.items():
        value = agent.get(name)
        if value is None:
            settings[name] = usual
        elif isinstance(usual, bool):
            settings[name] = is_true(value)
        elif isinstance(usual, str):
            settings[name] = _word(agent, name, usual)
        else:
            number = number_of(value)
            if number is None or number < 0:
                message = f"{name!r} of scout {agent.id[:60]!r} must be a number of at least 0"
                agent.context.report("W007", message, value.span, help=f"write {name}: {usual}")
            settings[name] = usual if number is None else number
    weights = {entry.name: number_of(entry.value) for entry in agent.mapping("score_weights") or ()}
    settings["score_weights"] = {k: v for k, v in weights.items() if v} or scouting.WEIGHTS
    settings["agents"] = [_described(other) for other in _scouted(agent, section)]
    return settings


def _scouted(agent: Agent, section: Section) -> list[Agent]:
    """The agents that a scout may choose; a memory only where its prompt names it."""
    prompt = agent.text("prompt")
    candidates = [section.visible[name] for name in section.flow["chosen"]]
    return [
        other
        for other in candidates
        if other.type in agents.SCOUTED or (other.type == "memory" and other.id in prompt)
    ]


def _word(agent: Agent, name: str, usual: str) -> str:
    choices = ("numeric", "boolean") if name == "scoring_mode" else scouting.PROFILES
    word = agent.text(name)
    if word in choices:
        return word
    advice = did_you_mean(word, choices) or f"choices: {', '.join(choices)}"
    message = f"there is no {name!r} {word[:60]!r}"
    agent.context.report("W007", message, agent.span_of(name), help=advice)
    return usual


def _described(agent: Agent) -> dict[str, object]:
    """What a scout is result of an agent."""
    capabilities = [scalar.text for scalar in agent.scalars("capabilities")]
    is_last = agent.type == "openai-answer" or is_true(agent.get("is_terminal"))
    is_last = is_last or any(word in capabilities for word in _TERMINAL)
    is_last = is_last or any(word in agent.id for word in _TERMINAL_IDS)
    prompt = _UNTOKENED.sub(" ", agent.text("description") or agent.text("prompt")).strip()
    about = f"{agent.type}{' (' + ', '.join(capabilities) + ')' if capabilities else ''}"
    return {
        "id": agent.id,
        "tokens": round(max(100, len(agent.text("prompt")) / 4) * 1.2),
        "capabilities": capabilities,
        "terminal": is_last,
        "about": f"{about}: {prompt[:160]}" if prompt else about,
    }


def read_executor(agent: Agent, section: Section, read_agent: Callable[[str], ir.Node]) -> ir.Node:
    """An executor: finds the list of agents, runs them, and tells what came of each."""
    source = agent.text("path_source") or USUAL_SOURCE
    stops = agent.text("on_agent_failure") or "continue"
    if stops not in _ON_FAILURE:
        message = f"'on_agent_failure' must be continue or abort, not {stops[:60]!r}"
        advice = did_you_mean(stops, _ON_FAILURE) or "write on_agent_failure: continue"
        agent.context.report("W007", message, agent.span_of("on_agent_failure"), help=advice)
    known, first = section.flow["agents"], source.split(".")[0]
    if first not in known:
        message = f"'path_source' names {first[:60]!r}, but there is no such agent"
        advice = did_you_mean(first, known) or "write path_source: AGENT"
        agent.context.report("W010", message, agent.span_of("path_source"), help=advice)
    names = section.flow["chosen"]
    # What runs in the row runs there, and some types cannot be run by a path.
    dropped = [name for name in section.visible if name not in names]
    found = computed("orka_path", literal(source), literal(dropped))
    # What ran in an iteration before is no result of this one.
    fresh = (RAN,) if section.is_loop else ()
    given = agent.text("input_source")
    nodes: list[ir.Node] = [
        ir.Assign(name="path_start", sets=tuple((n, ir.Constant({})) for n in (FAILED, *fresh))),
        ir.Compute(name="path_plan", value=found),
        _run(
            ir.Expression("jinja", "path_plan.path"),
            {name: read_agent(name) for name in names},
            bound=(ir.Compute(name="input", value=computed("orka_source", literal(given))),)
            if given
            else (),
            when=computed("orka_unhindered") if stops == "abort" else None,
        ),
    ]
    shape = computed("orka_executed", "it", literal(stops == "abort"))
    return ir.Group(name=agent.id, body=ir.Block(_in_a_row(nodes)), shape=shape)


def _run(
    path: ir.Expression,
    nodes: dict[str, ir.Node],
    *,
    bound: tuple[ir.Node, ...] = (),
    when: ir.Expression | None = None,
    needs_last: bool = False,
) -> ir.Node:
    """Runs the agents of a path one after the other, and keeps what each of them gave."""
    cases = tuple(
        ir.Case(name, ir.Block((node,), open=True), equals=ir.Constant(name))
        for name, node in nodes.items()
    )
    listed = literal([*nodes])
    last = f"path_index + 1 == ({path.source}) | length" if needs_last else "false"
    came = ir.Expression("jinja", f"orka_came_of({_AGENT}, {listed}, {last})", tasks.LIBRARY)
    body: list[ir.Node] = [
        *bound,
        ir.Branch(
            name="path_agent", cases=cases, subject=ir.Expression("jinja", _AGENT), when=when
        ),
        ir.Compute(name="path_result", value=came),
        ir.Assign(
            name="path_kept",
            sets=(
                (RAN, computed("orka_kept", literal(RAN), "path_result")),
                (FAILED, computed("orka_kept", literal(FAILED), "path_result")),
            ),
        ),
    ]
    return ir.ForEach(
        name="path_run",
        items=path,
        body=ir.Block(_in_a_row(body)),
        item_name=_AGENT,
        index_name="path_index",
        items_max=PATH_MAX,
        on_item_failure="halt",
    )
