"""Agents that look things up: the memory, answers from it, and the web."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.asking import ask
from whorl.dialects.orka.values import (
    computed,
    number_of,
    read_fields,
    read_prompt,
    read_value,
    template,
    text_of,
)
from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common, Scene
    from whorl.source import Value

OPERATIONS = ("read", "write")
USUAL_LIMIT = 5
USUAL_NAMESPACE = "default"
# The name that an operator maps to a search, in [tasks] of the configuration.
SEARCH_TASK = "duckduckgo"
_RAG = (
    "Answer the question from the memories below; say so if they do not hold the answer.\n\n"
    "Memories:\n{{ results_of_search }}\n\nQuestion: "
)


def read_memory(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """Reads an agent that keeps texts in a namespace, or finds them again."""
    del scene
    operation = text_of(agent.get("operation")) or "read"
    if operation not in OPERATIONS:
        found = agent.get("operation")
        message = f"a memory cannot {operation[:40]!r}"
        advice = did_you_mean(operation, OPERATIONS) or "operations: read, write"
        draft.report("W007", message, agent.span if found is None else found.span, help=advice)
    text = _text(draft, agent)
    entries: list[tuple[str, ir.Value]] = [
        ("operation", ir.Constant(operation)),
        ("namespace", _namespace(draft, agent)),
        ("content" if operation == "write" else "query", text),
    ]
    if operation == "write":
        entries.append(("metadata", _metadata(draft, agent)))
    else:
        entries.append(("limit", ir.Constant(_limit(agent))))
    return ir.Task(
        kind="memory",
        inputs=ir.Fields(tuple(entries)),
        shape=computed("orka_memories", "it"),
        **common,
    )


def read_rag(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """Reads an agent that answers from the memories of a namespace."""
    del scene
    question = _text(draft, agent)
    search = ir.Task(
        name="memories",
        kind="memory",
        inputs=ir.Fields(
            (
                ("operation", ir.Constant("read")),
                ("namespace", _namespace(draft, agent)),
                ("query", question),
                ("limit", ir.Constant(_limit(agent))),
            )
        ),
        shape=computed("orka_memories", "it"),
    )
    asked = question.source if isinstance(question, ir.Expression) else text_of(agent.get("prompt"))
    source = _RAG.replace("results_of_search", "memories.response") + asked
    inner: Common = {
        "name": "answer",
        "after": (ir.After("memories"),),
        "when": None,
        "on_failure": "halt",
        "timeout_s": None,
        "place": common["place"],
    }
    answer = ask(draft, agent, inner, prompt=template(source))
    shape = ir.Expression("jinja", "it.answer")
    return ir.Group(body=ir.Block((search, answer)), shape=shape, **common)


def read_search(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """Reads a search in the web, which the operator maps to a function or a URL."""
    del scene
    given: list[tuple[str, ir.Value]] = [("query", _text(draft, agent))]
    most = agent.get("max_results")
    if most is not None:
        given.append(("max_results", read_value(draft, most)))
    return ir.Task(
        kind="use",
        inputs=ir.Fields((("task", ir.Constant(SEARCH_TASK)), ("with", ir.Fields(tuple(given))))),
        shape=computed("orka_search", "it"),
        **common,
    )


def _text(draft: Draft, agent: Agent) -> ir.Value:
    return read_prompt(draft, agent.get("prompt")) or template("{{ get_input() }}{{ '' }}")


def _namespace(draft: Draft, agent: Agent) -> ir.Value:
    return read_prompt(draft, agent.get("namespace")) or ir.Constant(USUAL_NAMESPACE)


def _limit(agent: Agent) -> int:
    number = number_of(agent.get("limit", "top_k"))
    return int(number) if number is not None and number >= 1 else USUAL_LIMIT


def _metadata(draft: Draft, agent: Agent) -> ir.Value:
    fields = read_fields(draft, agent.get("metadata"))
    key: Value | None = agent.get("key_template")
    if key is None:
        return fields
    return ir.Fields((*fields.entries, ("key", read_value(draft, key))))
