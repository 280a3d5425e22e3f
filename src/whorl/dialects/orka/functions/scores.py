"""The score and the lessons of an iteration: looked for in what its agents said, never guessed."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.orka.functions.booleans import answered, is_failed_validation, weighted
from whorl.dialects.orka.functions.outputs import fields_of, item, response_of, text_of
from whorl.dialects.orka.functions.patterns import search_pattern, value_at
from whorl.language.faults import LanguageError
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.language.run import Run
    from whorl.language.values import Value


Results: TypeAlias = "dict[str, Value]"
Settings: TypeAlias = "dict[str, Value]"
Found: TypeAlias = "tuple[float, str]"

SEARCHED_MAX = 200_000
COMPARED_MAX = 20_000
_SUFFIX = re.compile(r"\s*(?:(%)|/\s*(\d{1,4})|out\s+of\s+(\d{1,4}))", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?")
_WORDED = re.compile(
    r"(?:score|rating|quality|confidence|agreement|consensus)[^0-9\n]{0,20}?(\d*\.?\d+)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\w+")


def pay_score(run: Run, results: Results, settings: Settings) -> None:
    """Pay for all that may be looked at in search of a score."""
    texts = [text_of(value) for value in results.values()]
    strategies = _tables(settings.get("strategies"))
    patterns = sum(1 + len(_texts(one.get("patterns"))) for one in strategies)
    pay_patterns(run, texts, patterns * (1 + len(_texts(settings.get("high_priority")))))
    if settings.get("agreement") is True:
        words = sum(min(len(text), COMPARED_MAX) for text in texts)
        run.spend(len(texts) * (len(texts) + (words >> 8)))


def pay_patterns(run: Run, texts: list[str], patterns: int) -> None:
    """Pay for some patterns that are searched for in all texts."""
    searched = sum(4 + (min(len(text), SEARCHED_MAX) >> 7) for text in texts)
    run.spend(sum(len(text) >> 6 for text in texts) + patterns * searched)


def find_score(results: Results, settings: Settings) -> Found | None:
    """The score and the agent that supplied it: criteria first, then the moderators, then by plan.

    Later agents come first: in doubt it is the scorer, which speaks last. A number out of range
    is given only where there is none in range.
    """
    beyond: Found | None = None
    for found in _all_found(results, settings):
        if is_in_range(found[0]):
            return found
        beyond = beyond or found
    return beyond


def _all_found(results: Results, settings: Settings) -> Iterator[Found]:
    criteria = _by_criteria(results, settings)
    if criteria is not None:
        yield criteria
        return
    strategies = _tables(settings.get("strategies"))
    for name in _texts(settings.get("high_priority")):
        for strategy in strategies if name in results else ():
            score = _in_text(text_of(results[name]), strategy)
            if score is not None:
                yield score, name
    for strategy in strategies:
        find = _STRATEGIES.get(str(strategy.get("type")))
        found = None if find is None else find(_among(results, strategy), strategy)
        if found is not None:
            yield found
    agreed = _by_agreement(results) if settings.get("agreement") is True else None
    if agreed is not None:
        yield agreed


def _among(results: Results, strategy: Settings) -> Results:
    """The results that a strategy looks at: all, or those of the agents that it names."""
    named = _texts(strategy.get("agents"))
    return {name: results[name] for name in results if name in named} if named else results


def _by_criteria(results: Results, settings: Settings) -> Found | None:
    """Criteria that at least half of were answered, by the last agent that did."""
    given = settings.get("weights")
    if not isinstance(given, dict) or not given:
        return None
    weights = {path: float(w) for path, w in given.items() if isinstance(w, int | float)}
    for name in reversed(results):
        if is_failed_validation(results[name]):
            continue
        answers = answered(results[name], list(weights))
        if len(answers) * 2 >= len(weights):
            return weighted(answers, weights), name
    return None


def _by_pattern(results: Results, strategy: Settings) -> Found | None:
    return _first(results, lambda value: _in_text(text_of(value), strategy))


def _by_key(results: Results, strategy: Settings) -> Found | None:
    path = _steps(strategy, "score")
    return _first(results, lambda value: score_of(_along(fields_of(value), path)))


def _by_json(results: Results, strategy: Settings) -> Found | None:
    path = _steps(strategy, "score")
    return _first(results, lambda value: score_of(value_at(fields_of(value), path)))


def _by_agent(results: Results, strategy: Settings) -> Found | None:
    path = _steps(strategy, "response")

    def score(value: Value) -> float | None:
        found = _along(fields_of(value), path)
        is_whole = found is UNDEFINED and path == ["response"]
        return score_of(response_of(value) if is_whole else found)

    # The agent that is named first comes first here.
    named = [name for name in reversed(_texts(strategy.get("agents"))) if name in results]
    return _first({name: results[name] for name in named}, score)


def _by_path(results: Results, strategy: Settings) -> Found | None:
    path = _steps(strategy, "score")
    name = path[0]
    if isinstance(name, str) and name in results:
        score = score_of(_along(results[name], path[1:]))
        return None if score is None else (score, name)
    return _by_key(results, strategy)


def _first(results: Results, score_in: Callable[[Value], float | None]) -> Found | None:
    """The first score in range, later agents first; where there is none, one out of range."""
    beyond: Found | None = None
    for name in reversed(results):
        score = score_in(results[name])
        if score is not None and is_in_range(score):
            return score, name
        if score is not None and beyond is None:
            beyond = score, name
    return beyond


def _steps(strategy: Settings, usual: str) -> list[Value]:
    path = strategy.get("path")
    return path if isinstance(path, list) and path else [usual]


_STRATEGIES: dict[str, Callable[[Results, Settings], Found | None]] = {
    "pattern": _by_pattern,
    "direct_key": _by_key,
    "json": _by_json,
    "agent_key": _by_agent,
    "nested_path": _by_path,
}


def _by_agreement(results: Results) -> Found | None:
    """How much the agents agree: the mean likeness of the words that they use."""
    bags = [Counter(_TOKEN.findall(text_of(v).lower()[:COMPARED_MAX])) for v in results.values()]
    bags = [bag for bag in bags if bag]
    pairs = [(one, other) for at, one in enumerate(bags) for other in bags[at + 1 :]]
    if not pairs:
        return None
    return round(sum(_likeness(*pair) for pair in pairs) / len(pairs), 4), ""


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    lengths = (math.sqrt(sum(n * n for n in bag.values())) for bag in (one, other))
    return min(1.0, shared / math.prod(lengths))


def _in_text(text: str, strategy: Settings) -> float | None:
    """The first number in range of the first pattern that has one; else one out of range."""
    searched = text[-SEARCHED_MAX:]
    beyond: float | None = None
    for source in _texts(strategy.get("patterns")):
        try:
            matches = search_pattern(source).search_all(searched)
        except LanguageError:
            continue
        for number, match in enumerate(matches):
            if number >= 20:
                break
            group = next((part for part in match.groups if part), None)
            said = match.group(0) if not match.groups else group
            whole = match.group(0) or ""
            end = match.span[0] + whole.rfind(said) + len(said) if said else match.span[1]
            score = _scored(said or "", searched[end : end + 20])
            if score is not None and is_in_range(score):
                return score
            beyond = score if beyond is None else beyond
    return beyond


def is_in_range(score: float) -> bool:
    """Whether a score is one; a number out of range is told, and never meets a threshold."""
    return 0 <= score <= 1


def score_of(value: Value) -> float | None:
    """A score that is a number, or a text that says one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return normalised(float(value), "")
    if not isinstance(value, str):
        return None
    stripped = value.strip()
    number = _NUMBER.match(stripped)
    if number is not None:
        return _scored(number[0], stripped[number.end() :][:20])
    worded = _WORDED.search(stripped[-SEARCHED_MAX:])
    if worded is None:
        return None
    return _scored(worded[1], stripped[worded.end() :][:20])


def _scored(digits: str, behind: str) -> float | None:
    number = _NUMBER.search(digits.rstrip("."))
    if number is None:
        return None
    return normalised(float(number[0]), behind)


def normalised(number: float, behind: str) -> float | None:
    """The number that a score stands for: percents and parts of ten are divided."""
    suffix = _SUFFIX.match(behind)
    if suffix is not None:
        scale = 100.0 if suffix[1] else float(suffix[2] or suffix[3])
        number = number / scale if scale else math.nan
    elif 1 < number <= 100:
        number /= 100
    return round(number, 9) if math.isfinite(number) else None


def _along(value: Value, path: list[Value]) -> Value:
    for key in path:
        value = item(value, key)
    return value


def _tables(value: Value) -> list[Settings]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


JOINT = " | "
_LESSON_MIN = 3
_LESSON_MAX = 200
_LESSONS_MAX = 50


def lessons(texts: Iterable[str], patterns: Iterable[str], length_max: int) -> str:
    """What the patterns find, each once, joined, and cut at a length."""
    found: dict[str, str] = {}
    sources = list(patterns)
    for text in texts:
        for source in sources:
            for lesson in _found(text[-SEARCHED_MAX:], source):
                if len(found) < _LESSONS_MAX:
                    found.setdefault(lesson.lower(), lesson)
    joined = JOINT.join(found.values())
    return joined if len(joined) <= length_max else joined[: max(0, length_max - 3)] + "..."


def _found(text: str, source: str) -> Iterator[str]:
    try:
        program = search_pattern(source, lessons=True)
        for number, match in enumerate(program.search_all(text)):
            if number >= _LESSONS_MAX:
                return
            said = next((part for part in match.groups if part), None) or match.group(0) or ""
            lesson = " ".join(said.split())
            if len(lesson) >= _LESSON_MIN:
                cut = len(lesson) > _LESSON_MAX
                yield lesson[:_LESSON_MAX] + "..." if cut else lesson
    except LanguageError:
        # The reader has reported a pattern that does not compile.
        return
