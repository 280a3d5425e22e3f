"""The functions that authors call in templates: loops and their past, what agents said, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.formats.orka.outputs import (
    INSIGHTS,
    JOINT,
    OUTPUTS,
    PAST,
    THRESHOLD,
    Output,
    get_input,
    joined,
    listed,
    member,
    outputs_of,
    printed,
    response_of,
    shown_records,
)
from whorl.language.calls import Run
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.patterns import compiled, pay_search
from whorl.language.signatures import Family, FunctionEntry
from whorl.language.values import PATH_MAX, UNDEFINED, Value

if TYPE_CHECKING:
    from collections.abc import Callable


NO_RESPONSE = "No response available"
UNKNOWN = "Unknown"
USUAL_THRESHOLD = 0.9
_VOICES = ("progressive", "conservative", "realist", "purist")
_CUT_AT = 255


def get_current_topic(run: Run) -> Value:
    value = get_input(run)
    fields = value if isinstance(value, dict) else {}
    topics = (fields.get(name) for name in ("topic", "input", "question", "query"))
    return next((topic for topic in topics if topic is not None), value)


def get_loop_number(run: Run) -> Value:
    number = run.lookup("loop_number")
    return number if isinstance(number, int) else 1


def _last_loop(run: Run) -> dict[str, Value]:
    """The result of the last loop that has ended before this place."""
    loops = reversed(list(outputs_of(run, listed(run, "loops"))))
    return next((value for _, value in loops if isinstance(value, dict)), {})


def past_records(run: Run) -> list[Value]:
    """The records of the loop around, or of the last loop that has ended before this place."""
    past: Value = run.lookup(PAST)
    if not isinstance(past, list):
        past = _last_loop(run).get(PAST)
    records: list[Value] = past if isinstance(past, list) else []
    run.check_items(len(records), "get_past_loops")
    return records


def get_past_loops(run: Run) -> list[Value]:
    return shown_records(past_records(run))


def get_past_insights(run: Run) -> str:
    lessons: dict[str, None] = {}
    for record in past_records(run):
        fields = record if isinstance(record, dict) else {}
        names = (INSIGHTS, "insights", "synthesis_insights")
        texts = (text for name in names if isinstance(text := fields.get(name), str) and text)
        if text := next(texts, ""):
            lessons.update(dict.fromkeys(text.split(JOINT)))
    return JOINT.join(lessons)


def get_past_loop_data(run: Run, key: Value) -> Value:
    past = get_past_loops(run)
    if key is None:
        return past
    values = (member(record, run.text(key)) for record in reversed(past))
    return next((value for value in values if value is not UNDEFINED), "")


def get_score_threshold(run: Run) -> Value:
    threshold = run.lookup(THRESHOLD)
    return threshold if isinstance(threshold, int | float) else USUAL_THRESHOLD


def _figure(name: str) -> Callable[[Run], Value]:
    return lambda run: _last_loop(run).get(name, UNKNOWN)


def get_loop_status(run: Run) -> Value:
    met = _last_loop(run).get("threshold_met")
    return UNKNOWN if met is None else "threshold met" if met else "threshold not met"


def get_loop_output(run: Run, agent: Value, results: Value) -> Value:
    output = _output(run, run.text(agent), results)
    return output if isinstance(output, dict) else Output()


def get_agent_response(run: Run, agent: Value) -> Value:
    return safe_get_response(run, agent, f"No response found for {run.text(agent)}", None)


def safe_get_response(run: Run, agent: Value, fallback: Value, results: Value) -> Value:
    return _response(_output(run, run.text(agent), results), fallback)


def _output(run: Run, name: str, results: Value) -> Value:
    """The result of an agent, or a member of it: `writer`, `writer.title`, `loop.agent.field`."""
    if isinstance(results, dict) and name in results:
        return results[name]
    output: Value = next((value for _, value in outputs_of(run, [name])), UNDEFINED)
    agent, _, path = name.partition(".")
    if output is UNDEFINED and path:
        output = _output(run, agent, None)
        for key in path.split(".")[:PATH_MAX]:
            inner = output.get("result") if isinstance(output, dict) else None
            output = inner[key] if isinstance(inner, dict) and key in inner else member(output, key)
            run.spend(1)
    return output


def _response(value: Value, fallback: Value) -> Value:
    response = response_of(value)
    return fallback if response is UNDEFINED or response is None or response == "" else response


def _voice(word: str) -> Callable[[Run], Value]:
    def respond(run: Run) -> Value:
        names = [name for name in listed(run, "agents") if word in name.lower()]
        results = [value for _, value in outputs_of(run, names)]
        return _response(results[-1], NO_RESPONSE) if results else NO_RESPONSE

    return respond


def get_collaborative_responses(run: Run) -> str:
    voices = {word.capitalize(): _voice(word)(run) for word in _VOICES}
    voices = {name: response for name, response in voices.items() if response != NO_RESPONSE}
    responses = voices or get_fork_responses(run, None)
    texts = (f"{name}: {run.text(response)}" for name, response in responses.items())
    return joined(run, "\n\n", texts, "get_collaborative_responses") or NO_RESPONSE


def get_fork_responses(run: Run, group: Value) -> dict[str, Value]:
    forks = outputs_of(run, listed(run, "forks"))
    named = [value for name, value in forks if group is None or name == group]
    branches = named[-1] if named and isinstance(named[-1], dict) else {}
    return {name: response_of(value) for name, value in branches.items() if value is not None}


def joined_results(run: Run) -> Value:
    joins = [value for _, value in outputs_of(run, listed(run, "joins"))]
    merged = joins[-1].get("merged") if joins and isinstance(joins[-1], dict) else None
    return merged if merged is not None else get_fork_responses(run, None)


def memory_query(run: Run, perspective: Value, topic: Value) -> str:
    about = get_current_topic(run) if topic is None else topic
    return f"{run.text(perspective)} perspective on: {printed(run, about)}"


def get_my_past_memory(run: Run, agent_type: Value) -> str:
    return _memories(run, agent_type) or "No past memory available"


def get_my_past_decisions(run: Run, name: Value) -> str:
    decisions = (
        f"Loop {run.text(member(record, 'loop_number'))}: {printed(run, decision)}"
        for record in get_past_loops(run)
        if (decision := member(record, run.text(name))) is not UNDEFINED
    )
    text = joined(run, "\n", decisions, "get_my_past_decisions")
    return text or _memories(run, name) or "No past decisions found"


def memory_context(run: Run, agent_type: Value, name: Value) -> str:
    parts = [_memories(run, agent_type), _memories(run, name)]
    return "\n".join(dict.fromkeys(filter(None, parts))) or "No memory context available"


def _memories(run: Run, about: Value) -> str:
    """The memories that agents have read which mention a word; all of them for an empty one."""
    word = run.text(about).lower()
    texts: dict[str, None] = {}
    for _, value in outputs_of(run, listed(run, "agents")):
        memories = value.get("memories") if isinstance(value, dict) else None
        for memory in memories if isinstance(memories, list) else ():
            text = run.text(member(memory, "content"))
            run.spend(1 + (len(text) >> 6))
            if word in run.text(memory).lower():
                texts[text] = None
    return joined(run, "\n", texts, "memories")


def get_debate_evolution(run: Run) -> str:
    lines = [
        f"Round {number}: score {run.text(member(record, 'score')) or 'unknown'}"
        for number, record in enumerate(get_past_loops(run), start=1)
    ]
    return "\n".join(lines) or "First round of the debate"


def safe_get(run: Run, value: Value, key: Value, default: Value) -> Value:
    path = run.text(key)
    if path.count(".") >= PATH_MAX:
        raise LimitExceeded(f"a path has at most {PATH_MAX} names")
    for part in path.split("."):
        value = member(value, part)
    return default if value is UNDEFINED or value is None else value


def has_context(run: Run, name: Value) -> bool:
    return bool(_output(run, run.text(name), None)) or bool(run.lookup(run.text(name)))


def truncate_text(run: Run, value: Value, length: Value, end: Value) -> str:
    return truncate(run, value, length, killwords=True, end=end)


def truncate(run: Run, value: Value, length: Value, killwords: Value, end: Value) -> str:
    """Cut at the last blank that fits, unless `killwords`."""
    text, mark = printed(run, value), run.text(end)
    room = length if isinstance(length, int) else _CUT_AT
    if len(text) <= room:
        return text
    cut = text[: max(0, room - len(mark))]
    return (cut if killwords else cut.rsplit(" ", 1)[0]) + mark


def format_loop_metadata(run: Run, records: Value, most: Value) -> str:
    items = records if isinstance(records, list) else []
    kept = items[-most:] if isinstance(most, int) and most > 0 else items
    lines = (
        f"Loop {number}: {_fields_text(run, record)}"
        for number, record in enumerate(kept, start=len(items) - len(kept) + 1)
    )
    return joined(run, "\n", lines, "format_loop_metadata")


def _fields_text(run: Run, record: Value) -> str:
    fields = record if isinstance(record, dict) else {"record": record}
    texts = (f"{name}: {run.text(part)}" for name, part in fields.items())
    return joined(run, ", ", texts, "format_loop_metadata")


def regex_search(
    run: Run, value: Value, source: Value, groups: tuple[Value, ...], named: dict[str, Value]
) -> Value:
    """The match; with groups such as `'\\\\1'`, the list of what they hold."""
    program = compiled(run, source, "regex_search", ignore_case=bool(named.get("ignorecase")))
    subject = printed(run, value)
    pay_search(run, program, len(subject))
    match = program.search(subject)
    if not groups:
        return "" if match is None else match.group(0)
    return [] if match is None else [match.group(_group(group)) or "" for group in groups]


def _group(group: Value) -> int | str:
    """A group by number: `1`, `'\\\\1'`, or the character that a template makes of `'\\1'`."""
    if isinstance(group, int):
        return group
    if not isinstance(group, str):
        raise EvaluationError("regex_search needs the number or the name of a group")
    if len(group) == 1 and ord(group) < 10:
        return ord(group)
    name = group.removeprefix("\\")
    return int(name) if name.isascii() and name.isdigit() else name


def _extreme(choose: Callable[[list[float]], float]) -> Callable[..., Value]:
    def find(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> Value:
        items = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
        run.check_items(len(items), "min")
        return choose([item for item in items if isinstance(item, int | float)])

    return find


_RESPONSE = f"safe_get_response(agent, fallback={NO_RESPONSE!r}, previous_outputs=none)"
# The functions that are given the name of an agent, whose result they read.
_READS = dict.fromkeys(("get_loop_output", "get_agent_response", "safe_get_response"), OUTPUTS)
_FUNCTIONS: tuple[tuple[str, Callable[..., Value], str], ...] = (
    ("get_input", get_input, "the input of the run"),
    ("get_current_topic", get_current_topic, "what the run is about"),
    ("get_input_field(value, field, default='')", safe_get, "a field of an object"),
    ("get_loop_number", get_loop_number, "the number of this iteration, from 1"),
    ("has_past_loops", lambda run: bool(past_records(run)), "whether there are past iterations"),
    ("get_past_loops", get_past_loops, "the records of past iterations"),
    ("get_past_loops_metadata", get_past_loops, "the records of past iterations"),
    ("get_past_insights", get_past_insights, "what past iterations taught"),
    ("get_past_loop_data(key=none)", get_past_loop_data, "a field of the last record"),
    (
        "get_round_info",
        lambda run: run.text(get_loop_number(run)),
        "the number of this iteration as text",
    ),
    ("get_score_threshold", get_score_threshold, "the score at which the loop stops"),
    ("get_loop_rounds", _figure("loops_completed"), "how many iterations the last loop took"),
    ("get_final_score", _figure("final_score"), "the last score of the last loop"),
    ("get_loop_status", get_loop_status, "whether the last loop met its threshold"),
    ("get_loop_output(loop, previous_outputs=none)", get_loop_output, "the result of a loop"),
    ("get_agent_response(agent)", get_agent_response, "what an agent said"),
    (_RESPONSE, safe_get_response, "what an agent said, or something else"),
    *((f"get_{word}_response", _voice(word), f"what the {word} agent said") for word in _VOICES),
    ("get_collaborative_responses", get_collaborative_responses, "what each side said"),
    ("get_fork_responses(group=none)", get_fork_responses, "what the branches of a fork said"),
    ("joined_results", joined_results, "what the last join brought together"),
    ("format_memory_query(perspective, topic=none)", memory_query, "a question for the memory"),
    ("get_my_past_memory(agent_type)", get_my_past_memory, "memories of a kind of agent"),
    ("get_my_past_decisions(name)", get_my_past_decisions, "what was decided before"),
    ("get_agent_memory_context(agent_type, agent='')", memory_context, "memories about an agent"),
    ("get_debate_evolution", get_debate_evolution, "the scores of past iterations"),
    ("safe_get(value, key, default='')", safe_get, "a member, or something else"),
    ("safe_str(value)", printed, "a value as text"),
    ("has_context(name)", has_context, "whether a name has a value"),
    ("to_json_string(value)", Run.json_text, "a value as JSON"),
    ("truncate_text(value, length=100, end='...')", truncate_text, "a text cut at a length"),
    ("format_loop_metadata(records, most=none)", format_loop_metadata, "records as lines"),
    ("min(*values)", _extreme(min), "the smallest of some numbers"),
    ("max(*values)", _extreme(max), "the largest of some numbers"),
)
_TRUNCATE = f"truncate(length={_CUT_AT}, killwords=false, end='...')"
_function, _filter = Family("function", "orka"), Family("filter", "orka")
TEMPLATE_FUNCTIONS: tuple[FunctionEntry, ...] = (
    *(_function(*row, reads=_READS.get(row[0].partition("(")[0], "")) for row in _FUNCTIONS),
    _filter(_TRUNCATE, truncate, "a text cut at a length"),
    _filter("safe_get(key, default='')", safe_get, "a member, or something else"),
    _filter("to_json_string", Run.json_text, "a value as JSON"),
    _filter("format_loop_metadata(most=none)", format_loop_metadata, "records as lines"),
    _filter("regex_search(pattern, *values)", regex_search, "the first match, or its groups"),
)
