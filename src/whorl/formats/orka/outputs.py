"""The results of agents, as templates and the functions of the library read them.

An agent's result is the text that a model wrote, or JSON. `previous_outputs.writer` prints the
text, `previous_outputs.writer.response` is the same, and the members of a text that is a JSON
object can be read like those of an object.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from whorl.language.chunked_json import refuse_constant
from whorl.language.values import PATH_MAX, UNDEFINED, Value, item_of, member_of, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.language.calls import Run

Table: TypeAlias = "dict[str, Value]"

# Names that the reader of the dialect binds and no author can write.
FLOW = "$flow"
THRESHOLD = "$threshold"
PREVIOUS = "$previous"
# The results of agents of paths, by their names, and the failures of others; run variables.
RAN = "$ran"
FAILED = "$failed"
# The names of the records of agents, and of the variables.
RECORDS = "$records"
VARIABLES = "$variables"

# The name under which templates find the results of agents.
OUTPUTS = "previous_outputs"
PAST = "past_loops"
# Members of a record that are kept for the engine and not shown to prompts.
INSIGHTS = "$insights"
# Between lessons in one text.
JOINT = " | "
# The members for which a result without such a member gives itself.
WORDS = frozenset(("response", "result", "output"))

_PARSED_MAX = 65_536
_UNWRAPPED_MAX = 8
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)


class Output(dict[str, "Value"]):
    """An agent's result that is an object; without a `response` field it is its own response."""

    __slots__ = ()


def previous_outputs(run: Run) -> Table:
    """Returns the results of all agents that have run, by their names, and the past loops."""
    outputs = dict(outputs_of(run, listed(run, "agents")))
    past = run.lookup(PAST)
    if isinstance(past, list):
        outputs[PAST] = shown_records(past)
    return outputs


def outputs_of(run: Run, names: Iterable[str]) -> Iterator[tuple[str, Value]]:
    """Yields the results of those agents that have one; null members are undefined."""
    ran: Table | None = None
    for name in names:
        run.spend(1)
        value: Value = run.lookup(name)
        if value is UNDEFINED:
            ran = variable(run, RAN) if ran is None else ran
            value = ran.get(name, UNDEFINED)
        if isinstance(value, dict) and not isinstance(value, Output):
            shown = Output((part, inner) for part, inner in value.items() if inner is not None)
            result = value.get("result")
            if "loops_completed" in value and isinstance(result, dict):
                # Files of the public system read the figures of a loop inside of it, too.
                figures = {part: inner for part, inner in shown.items() if part not in WORDS}
                shown["result"] = Output({**figures, **result})
                spoken = shown.get("response")
                if isinstance(spoken, dict) and "merged" not in spoken:
                    inside = {**table_in(spoken.get("result")), **result}
                    shown["response"] = Output({**figures, **spoken, "result": inside})
            value = shown
        if value is not UNDEFINED and value is not None:
            yield name, value


def last_of(run: Run, names: Iterable[str]) -> Value:
    """Returns the result of the last of some agents that has one."""
    values = [value for _, value in outputs_of(run, names)]
    return values[-1] if values else UNDEFINED


def output_at(run: Run, name: str, results: Value = None) -> Value:
    """Returns the result of an agent, or a member: `writer`, `writer.title`, `loop.agent.field`."""
    if isinstance(results, dict) and name in results:
        return results[name]
    output = last_of(run, [name])
    agent, _, path = name.partition(".")
    if output is UNDEFINED and path:
        output = output_at(run, agent)
        for key in path.split(".")[:PATH_MAX]:
            inner = table_in(table_in(output).get("result"))
            output = inner[key] if key in inner else member(output, key)
            run.spend(1)
    return output


def variable(run: Run, name: str) -> Table:
    """Returns an object that paths keep; empty at first."""
    return table_in(table_in(run.lookup(VARIABLES)).get(name))


def listed(run: Run, what: str) -> list[str]:
    """Returns the reader's list of the agents around: all of them, the forks or the joins."""
    return texts_in(table_in(run.lookup(FLOW)).get(what))


def texts_in(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def table_in(value: Value) -> Table:
    return value if isinstance(value, dict) else {}


def tables_in(value: Value) -> list[Table]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number_in(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def shown_records(past: Sequence[Value]) -> list[Value]:
    """Returns records of past loops without the fields that only the engine needs."""
    return [
        {k: v for k, v in record.items() if v is not None and k != "number" and k[:1] != "$"}
        if isinstance(record, dict)
        else record
        for record in past
    ]


def member(value: Value, name: str) -> Value:
    """Returns `value.name`; a text or an object without `response` is its own response."""
    if isinstance(value, dict):
        return value.get(name, value if isinstance(value, Output) and name in WORDS else UNDEFINED)
    inner = object_in(value) if isinstance(value, str) else None
    if inner is not None and name in inner:
        return inner[name]
    if name in WORDS and isinstance(value, str | bool | int | float | list):
        return value
    return member_of(value, name)


def item(value: Value, key: Value) -> Value:
    """Returns `value[key]`, with the same rule for texts as keys."""
    return member(value, key) if isinstance(key, str) else item_of(value, key)


def printed(run: Run, value: Value) -> str:
    """Returns a value as templates print it: an object with a response prints the response."""
    return run.text(response_of(value))


def joined(run: Run, mark: str, texts: Iterable[str], operation: str) -> str:
    """Returns texts as one; a text that would be too long is refused before it is built."""
    parts: list[str] = []
    size = 0
    for text in texts:
        size += len(text) + len(mark)
        run.spend(1)
        run.limit_text(size, operation)
        parts.append(text)
    run.check_text(size, operation)
    return mark.join(parts)


def response_of(value: Value) -> Value:
    """Returns the response of an agent."""
    for _ in range(_UNWRAPPED_MAX):
        if isinstance(value, dict) and value.get("response") is not None:
            value = value["response"]
        elif isinstance(value, str) and (inner := object_in(value)) and "response" in inner:
            value = inner["response"]
        else:
            break
    return value


def text_of(value: Value) -> str:
    """Returns the text in which scores and lessons are searched."""
    response = response_of(value)
    if isinstance(response, str):
        return response
    if isinstance(response, dict):
        texts = [part for part in response.values() if isinstance(part, str)]
        return "\n".join([*texts, to_text(dict(response))])
    return "" if response is None or response is UNDEFINED else to_text(response)


def fields_of(value: Value) -> Table:
    """Returns the members of a result: of the object, or of the object in a text."""
    if isinstance(value, dict):
        inner = value.get("response")
        spoken = fields_of(inner) if isinstance(inner, dict | str) else {}
        return {**spoken, **value}
    return dict(object_in(value) or {}) if isinstance(value, str) else {}


def object_in(text: str) -> Table | None:
    """Returns the JSON object that a text is, or holds in a fence."""
    if len(text) > _PARSED_MAX or "{" not in text:
        return None
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Table | None:
    fenced = _FENCE.search(text)
    for source in (text, fenced[1] if fenced else ""):
        if source.lstrip()[:1] == "{":
            with suppress(ValueError, RecursionError):
                parsed: Table = json.loads(source, parse_constant=refuse_constant)
                return parsed
    return None


def get_input(run: Run) -> Value:
    value = run.lookup("input")
    return "" if value is UNDEFINED or value is None else value
