"""The score of an iteration: looked for in what its agents said, never guessed, never a crash."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from whorl.language.faults import LanguageError
from whorl.language.functions.orka.booleans import answered, weighted
from whorl.language.functions.orka.outputs import fields_of, member, response_of, text_of
from whorl.language.functions.orka.patterns import search_pattern
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable

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

    Later agents come first: in doubt it is the scorer, which speaks last.
    """
    found = _by_criteria(results, settings)
    if found is not None:
        return found
    strategies = _tables(settings.get("strategies"))
    for name in _texts(settings.get("high_priority")):
        if name in results:
            for strategy in strategies:
                score = _in_text(text_of(results[name]), strategy)
                if score is not None:
                    return score, name
    for strategy in strategies:
        find = _STRATEGIES.get(str(strategy.get("type")))
        found = None if find is None else find(results, strategy)
        if found is not None:
            return found
    return _by_agreement(results) if settings.get("agreement") is True else None


def _by_criteria(results: Results, settings: Settings) -> Found | None:
    """Criteria that at least half of were answered, by the last agent that did."""
    given = settings.get("weights")
    if not isinstance(given, dict) or not given:
        return None
    weights = {path: float(w) for path, w in given.items() if isinstance(w, int | float)}
    for name in reversed(results):
        answers = answered(results[name], list(weights))
        if len(answers) * 2 >= len(weights):
            return weighted(answers, weights), name
    return None


def _by_pattern(results: Results, strategy: Settings) -> Found | None:
    for name in reversed(results):
        score = _in_text(text_of(results[name]), strategy)
        if score is not None:
            return score, name
    return None


def _by_key(results: Results, strategy: Settings) -> Found | None:
    key = str(strategy.get("key") or strategy.get("path") or "score").removeprefix("$.")
    for name in reversed(results):
        score = score_of(_along(fields_of(results[name]), key))
        if score is not None:
            return score, name
    return None


def _by_agent(results: Results, strategy: Settings) -> Found | None:
    key = str(strategy.get("key") or "response")
    for name in _texts(strategy.get("agents")):
        if name in results:
            found = _along(fields_of(results[name]), key)
            if found is UNDEFINED and key == "response":
                found = response_of(results[name])
            score = score_of(found)
            if score is not None:
                return score, name
    return None


def _by_path(results: Results, strategy: Settings) -> Found | None:
    path = str(strategy.get("path") or strategy.get("key") or "").removeprefix("$.")
    name, _, rest = path.partition(".")
    if name in results:
        score = score_of(_along(results[name], rest))
        return None if score is None else (score, name)
    return _by_key(results, {"key": path})


_STRATEGIES: dict[str, Callable[[Results, Settings], Found | None]] = {
    "pattern": _by_pattern,
    "direct_key": _by_key,
    "json": _by_key,
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
    """The first match that is a number, of the first pattern that has one."""
    searched = text[-SEARCHED_MAX:]
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
            if score is not None:
                return score
    return None


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
    """A number between 0 and 1: percents and parts of ten are divided; what is beyond is none."""
    suffix = _SUFFIX.match(behind)
    if suffix is not None:
        scale = 100.0 if suffix[1] else float(suffix[2] or suffix[3])
        number = number / scale if scale else math.nan
    elif 1 < number <= 100:
        number /= 100
    return round(number, 9) if 0 <= number <= 1 else None


def _along(value: Value, path: str) -> Value:
    for key in path.split(".") if path else ():
        value = member(value, key)
    return value


def _tables(value: Value) -> list[Settings]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Value) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
