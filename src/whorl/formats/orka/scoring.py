"""The score and the lessons of an iteration: found in its agents' answers, never guessed.

A score is a number that a strategy finds, or the weights of the criteria that a model finds met.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

from whorl.formats.orka import outputs
from whorl.formats.orka.outputs import table_in, tables_in, text_of, texts_in
from whorl.language.patterns import Pattern, pattern
from whorl.language.values import UNDEFINED, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.formats.orka.outputs import Table
    from whorl.language.calls import Run


_SUFFIX = re.compile(r"\s*(?:(%)|/\s*(\d{1,4})|out\s+of\s+(\d{1,4}))", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?")
_WORDED = re.compile(
    r"(?:score|rating|quality|confidence|agreement|consensus)[^0-9\n]{0,20}?(\d*\.?\d+)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\w+")
# A look-ahead at the very end of a pattern.
_AHEAD = re.compile(r"(?<!\\)\(\?=((?:[^()\\]|\\.|\([^()]*+\))*+)\)\Z", re.DOTALL)
_LESSON_MAX = 200
_LESSONS_MAX = 50


def pay_patterns(run: Run, texts: list[str], patterns: list[str], *, lessons: bool = False) -> None:
    """Pays for searches, whose work grows with the texts and with the states of a pattern."""
    searched = sum(4 + (len(text) >> 7) for text in texts)
    run.spend(sum(len(text) >> 6 for text in texts) + len(patterns) * searched)
    for source in patterns:
        program = search_pattern(source, lessons=lessons)
        run.spend(sum(program.price(len(text)) for text in texts))


def find_score(run: Run, results: Table, settings: Table) -> float | None:
    """Returns the score: by criteria, else from the moderators, else by the strategies.

    Later agents come first: the scorer usually answers last. A number out of range is returned only
    if no other number is in range.
    """
    texts = [text_of(value) for value in results.values()]
    strategies = tables_in(settings.get("strategies"))
    patterns = [each for strategy in strategies for each in texts_in(strategy.get("patterns"))]
    searches = 1 + len(texts_in(settings.get("high_priority")))
    run.spend(searches * len(strategies) * sum(4 + (len(text) >> 7) for text in texts))
    pay_patterns(run, texts, searches * patterns)
    if settings.get("agreement") is True:
        run.spend(len(texts) * (len(texts) + (sum(map(len, texts)) >> 8)))
    beyond: float | None = None
    for score in _candidates(results, settings):
        if 0 <= score <= 1:
            return score
        beyond = score if beyond is None else beyond
    return beyond


def _candidates(results: Table, settings: Table) -> Iterator[float]:
    criteria = _by_criteria(results, settings)
    if criteria is not None:
        yield criteria
        return
    strategies = tables_in(settings.get("strategies"))
    for name, strategy in product(texts_in(settings.get("high_priority")), strategies):
        if name in results:
            yield from _in_text(text_of(results[name]), strategy)
    for strategy in strategies:
        yield from _by_strategy(results, strategy)
    if settings.get("agreement") is not True:
        return
    # How much the agents agree: the mean likeness of the words that they use.
    bags = [Counter(_TOKEN.findall(text_of(v).lower())) for v in results.values()]
    likenesses: list[float] = []
    for bag, other in combinations(filter(None, bags), 2):
        shared = sum(count * other[word] for word, count in bag.items())
        lengths = (math.sqrt(sum(n * n for n in words.values())) for words in (bag, other))
        likenesses.append(min(1.0, shared / math.prod(lengths)))
    if likenesses:
        yield round(sum(likenesses) / len(likenesses), 4)


def _by_criteria(results: Table, settings: Table) -> float | None:
    """Returns the score of the last agent that answered at least half of the criteria."""
    table = table_in(settings.get("weights"))
    weights = {path: float(w) for path, w in table.items() if isinstance(w, int | float)}
    for result in reversed(results.values()) if weights else ():
        if isinstance(result, dict) and {"boolean_evaluations", "error"} <= result.keys():
            # Its model answered none of the criteria: the score means nothing.
            continue
        answers = answered(result, list(weights))
        if len(answers) * 2 >= len(weights):
            # A criterion without an answer does not hold.
            score = sum(weight for path, weight in weights.items() if answers.get(path))
            return round(min(1.0, score), 4)
    return None


def _by_strategy(results: Table, strategy: Table) -> Iterator[float]:
    """Yields the scores of a strategy's agents, or of all, the last first."""
    kind, named = strategy.get("type"), texts_in(strategy.get("agents"))
    written = strategy.get("path")
    path: list[Value] = written if isinstance(written, list) else []
    path = path or ["response" if kind == "agent_key" else "score"]
    names = [name for name in reversed(results) if not named or name in named]
    if kind == "agent_key":
        # The agent that is named first comes first here.
        names = [name for name in named if name in results]
    begins_with_agent = kind == "nested_path" and path[0] in names
    if begins_with_agent:
        names, path = [str(path[0])], path[1:]
    for value in map(results.__getitem__, names):
        if kind == "pattern":
            yield from _in_text(text_of(value), strategy)
            continue
        part: Value = value if begins_with_agent else outputs.fields_of(value)
        if kind == "json":
            part = value_at(part, path)
        else:
            for key in path:
                part = outputs.item(part, key)
        if kind == "agent_key" and part is UNDEFINED and path == ["response"]:
            part = outputs.response_of(value)
        score = score_of(part)
        if score is not None:
            yield score


def _in_text(text: str, strategy: Table) -> Iterator[float]:
    """Yields the numbers that the patterns of a strategy find."""
    for source in texts_in(strategy.get("patterns")):
        for match in islice(search_pattern(source).search_all(text), 20):
            whole = match.group(0) or ""
            digits = next((part for part in match.groups if part), "") if match.groups else whole
            end = match.span[0] + whole.rfind(digits) + len(digits) if digits else match.span[1]
            score = _scored(digits, text[end : end + 20])
            if score is not None:
                yield score


def score_of(value: Value) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _normalised(float(value), "")
    stripped = value.strip() if isinstance(value, str) else ""
    match = _NUMBER.match(stripped) or _WORDED.search(stripped)
    if match is None:
        return None
    return _scored(match[match.lastindex or 0], stripped[match.end() :][:20])


def _scored(digits: str, behind: str) -> float | None:
    number = _NUMBER.search(digits.rstrip("."))
    return None if number is None else _normalised(float(number[0]), behind)


def _normalised(number: float, behind: str) -> float | None:
    """Returns a number as a score: percents and parts of ten are divided."""
    suffix = _SUFFIX.match(behind)
    if suffix is not None:
        scale = 100.0 if suffix[1] else float(suffix[2] or suffix[3])
        number = number / scale if scale else math.nan
    elif 1 < number <= 100:
        number /= 100
    return round(number, 9) if math.isfinite(number) else None


def lessons(texts: Iterable[str], patterns: list[str], length_max: int) -> str:
    """Returns the matches of the patterns, each once, joined, and cut at a length."""
    by_word: dict[str, str] = {}
    for text, source in product(texts, patterns):
        matches = search_pattern(source, lessons=True).search_all(text)
        for match in islice(matches, _LESSONS_MAX):
            words = next((part for part in match.groups if part), None) or match.group(0) or ""
            lesson = " ".join(words.split())
            if len(lesson) >= 3 and len(by_word) < _LESSONS_MAX:
                cut = lesson[:_LESSON_MAX] + "..." if len(lesson) > _LESSON_MAX else lesson
                by_word.setdefault(cut.lower(), cut)
    joined = outputs.JOINT.join(by_word.values())
    return joined if len(joined) <= length_max else joined[: max(0, length_max - 3)] + "..."


def search_pattern(source: str, *, lessons: bool = False) -> Pattern:
    """Compiles a pattern; raises LanguageError. Patterns for lessons ignore case and line ends.

    A look-ahead at its very end becomes a group: its text may belong to the match, because only the
    groups of a match are read.
    """
    source = _AHEAD.sub(r"(?:\1)", source)
    return pattern(source, ignore_case=lessons, dot_matches_newline=lessons)


def value_at(value: Value, steps: list[Value]) -> Value:
    """Returns the value at the end of a path of members of objects and positions of lists."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, UNDEFINED)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return UNDEFINED
    return value


# The criteria of validators: which there are, how they weigh, and which an answer meets.

PRESETS = ("strict", "moderate", "lenient")
APPROVED_FROM = 0.7
# By context and dimension: the criteria, with their weights in percent for each preset.
_TABLE = """
loop_convergence improvement better_than_previous 30 25 25 significant_delta 15 15 12
loop_convergence improvement approaching_target 10 10 8
loop_convergence stability not_degrading 15 18 20 consistent_direction 10 12 15
loop_convergence convergence delta_decreasing 10 12 10 within_tolerance 10 8 10
quality accuracy factually_correct 25 22 20 addresses_question 20 18 15 no_hallucinations 15 12 10
quality completeness comprehensive_answer 15 18 20 includes_examples 5 8 10
quality clarity well_structured 8 10 12 easy_to_understand 7 7 8
quality relevance stays_on_topic 5 5 5
graphscout completeness has_all_required_steps 20 18 15 addresses_all_query_aspects 15 12 10
graphscout completeness handles_edge_cases 10 8 5 includes_fallback_path 10 7 5
graphscout efficiency minimizes_redundant_calls 8 10 12 uses_appropriate_agents 8 10 12
graphscout efficiency optimizes_cost 4 5 6 optimizes_latency 4 5 6
graphscout safety validates_inputs 6 8 10 handles_errors_gracefully 5 7 8
graphscout safety has_timeout_protection 3 3 4 avoids_risky_combinations 2 2 2
graphscout coherence logical_agent_sequence 3 3 3 proper_data_flow 1 1 1
graphscout coherence no_conflicting_actions 1 1 1
validation completeness matches_schema 30 25 20 all_required_fields 20 20 18 correct_types 15 15 15
validation accuracy within_bounds 15 18 20 valid_relationships 10 12 15
validation format well_formed 10 10 12
"""
CONTEXTS: dict[str, dict[str, dict[str, list[str]]]] = {}
for _context, _dimension, *_parts in map(str.split, _TABLE.strip().splitlines()):
    _criteria = CONTEXTS.setdefault(_context, {}).setdefault(_dimension, {})
    _criteria |= {_parts[at]: _parts[at + 1 : at + 4] for at in range(0, len(_parts), 4)}
_TRUE = ("true", "yes", "pass", "passed", "met", "1")
_FALSE = ("false", "no", "fail", "failed", "unmet", "0")
_WORD = re.compile(r"\b(true|yes|pass|passed|met|false|no|fail|failed|unmet)\b")
_NEAR_CHARACTERS = 100


def paths_of(context: str) -> list[str]:
    """Returns the criteria of a context as `dimension.criterion`, in their order."""
    return [f"{name}.{part}" for name, criteria in CONTEXTS[context].items() for part in criteria]


def weights_of(context: str, preset: str, changed: dict[str, float]) -> dict[str, float]:
    """Returns the weight of each criterion; changed weights are scaled so that they sum to 1."""
    at, weights = PRESETS.index(preset), dict[str, float]()
    for name, criteria in CONTEXTS[context].items():
        weights |= {f"{name}.{part}": int(parts[at]) / 100 for part, parts in criteria.items()}
    weights |= changed
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()} if total > 0 else weights


def answered(value: Value, paths: list[str]) -> dict[str, bool]:
    """Returns the criteria that a result answers, by `dimension.criterion`."""
    if isinstance(value, dict):
        evaluations = value.get("boolean_evaluations")
        if isinstance(evaluations, dict):
            return _in_object(evaluations, paths)
        inner = value.get("response")
        return _in_object(value, paths) or (answered(inner, paths) if inner else {})
    if not isinstance(value, str):
        return {}
    # Else the JSON object between the first and the last brace.
    braced = value[value.find("{") : value.rfind("}") + 1]
    fields = outputs.object_in(value) or outputs.object_in(braced)
    return answered(fields, paths) if fields is not None else {}


def _in_object(fields: Table, paths: list[str]) -> dict[str, bool]:
    """Returns the criteria in an object: by dimension, or flat; case does not matter."""
    folded = {name.lower(): part for name, part in fields.items()}
    answers: dict[str, bool] = {}
    for path in paths:
        dimension, _, criterion = path.partition(".")
        group = folded.get(dimension)
        inner = {k.lower(): v for k, v in group.items()} if isinstance(group, dict) else folded
        answer = inner.get(criterion)
        word = answer.strip().strip("\"'").lower() if isinstance(answer, str) else answer
        if isinstance(word, bool) or word in _TRUE + _FALSE:
            answers[path] = word is True or word in _TRUE
    return answers


def _in_prose(text: str, paths: list[str]) -> dict[str, bool]:
    """Returns the criteria in prose: `name: true`, or such a word soon after the name."""
    searched = text.lower()
    answers: dict[str, bool] = {}
    for path in paths:
        criterion = path.partition(".")[2]
        at = searched.find(criterion)
        if at < 0:
            at = searched.find(criterion.replace("_", " "))
        near = searched[at + len(criterion) :][:_NEAR_CHARACTERS] if at >= 0 else ""
        word = _WORD.search(near)
        if word is not None:
            answers[path] = word[1] in _TRUE
    return answers


def validation(run: Run, answer: Value, context: Value) -> Table:
    criteria, paths = CONTEXTS[run.text(context)], paths_of(run.text(context))
    text = answer if isinstance(answer, str) else ""
    run.spend(len(text) >> 6)
    answers = answered(answer, paths) or _in_prose(text, paths)
    passed: list[Value] = [path for path in paths if answers.get(path)]
    score = round(len(passed) / len(paths), 4)
    verdict = "APPROVED" if score >= APPROVED_FROM else "REJECTED"
    result: Table = {
        "boolean_evaluations": {
            name: {part: answers.get(f"{name}.{part}", False) for part in parts}
            for name, parts in criteria.items()
        },
        "validation_score": score,
        "passed_criteria": passed,
        "failed_criteria": [path for path in paths if not answers.get(path)],
        "overall_assessment": verdict if answers else "ERROR",
        "response": text if text else verdict,
    }
    if not answers:
        result["error"] = "the answer names none of the criteria"
    return result
