"""Episodes: what happened when a task was done, and what it taught, for later tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.formats.orka.brain import (
    Fields,
    best_of,
    count,
    flag,
    listed,
    number,
    number_in,
    overlap,
    payload_of,
    table,
    text,
    told,
)
from whorl.formats.orka.outputs import texts_in
from whorl.language.libraries import Amendment

if TYPE_CHECKING:
    from whorl.language import Json

PER_DOMAIN_MAX = 200
FAILURES_MAX = 400
_HALF_LIFE_S = 168 * 3_600.0
_CHARACTERS_A_TOKEN = 4
_HOUR_S = 3_600.0
_TEXTS = ("task_input", "task", "outcome_summary", "failure_analysis", "model", "strategy")
_LISTS = ("what_worked", "what_failed", "lessons", "agents")
_HEADING = "Relevant past experience:"
_LINES = (
    ("Lessons", "lessons"),
    ("What failed", "what_failed"),
    ("Root cause", "failure_analysis"),
    ("What worked", "what_worked"),
)


def record(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps an episode; of each domain the newest, and the newest failures of all."""
    payload = payload_of(given.get("payload"))
    quality, warning = number(payload, "quality", default=0.5)
    success = flag(payload, "success")
    domain = text(payload, "domain", default="general")
    episode: Fields = {
        "id": given.get("key"),
        "episode": True,
        "domain": domain,
        "success": success,
        "quality": quality,
        "at": now,
        **{name: text(payload, name)[:4_000] for name in _TEXTS},
        **{name: [*listed(payload.get(name))] for name in _LISTS},
    }
    episode["task_input"] = text(payload, "task_input", "input", "response")[:4_000]
    known = _episodes(records)
    ended = "well" if success else "badly"
    value = told(
        f"Recorded an episode of {domain} that ended {ended}",
        quality,
        f"{len(known) + 1} episodes are known",
        episode_id=episode["id"],
        episode_domain=domain,
        episode_success=success,
    )
    return Amendment(value, episode, _too_many(known, episode), warning)


def _episodes(records: list[Json]) -> list[Fields]:
    return [found for found in map(table, records) if found.get("episode")]


def _too_many(known: list[Fields], new: Fields) -> frozenset[str]:
    """The oldest of a domain that go; failures are kept longer than what went well."""
    failures = [episode for episode in known if not episode["success"]]
    beside = [e for e in known if e["success"] and e["domain"] == new["domain"]]
    gone = beside[: max(0, len(beside) - PER_DOMAIN_MAX + 1)]
    gone += failures[: max(0, len(failures) - FAILURES_MAX + 1)]
    return frozenset(str(episode["id"]) for episode in gone)


def find(records: list[Json], given: Fields, now: float) -> Amendment:
    """The episodes that help with a task, the best first, and as a text for prompts."""
    payload = payload_of(given.get("payload"))
    wanted = f"{text(payload, 'task_input', 'input', 'response')} {text(payload, 'task')}"
    domain, only = text(payload, "domain", default="general"), text(payload, "domain_filter")
    with_failures = flag(payload, "include_failures")
    known = _episodes(records)
    newest = sorted(known, key=lambda episode: -number_in(episode["at"]))
    fitting = [e for e in newest if (with_failures or e["success"]) and only in ("", e["domain"])]
    rated = ((episode, _scores(episode, wanted, domain, now)) for episode in fitting)
    # Without a word or a domain in common, an episode has nothing to do with the task.
    related = (row for row in rated if row[1]["semantic_score"] or row[1]["domain_score"])
    best = best_of(related, payload, top_k=5, min_score=0.2)
    if not best:
        why = "no past episode is related to this task"
        return Amendment(told(why, episode_count=0, episodes=[]))
    most = count(payload, "max_tokens", 1_500, 100_000) * _CHARACTERS_A_TOKEN
    value = told(
        _written([episode for episode, _ in best], now, most),
        best[0][1]["combined_score"],
        f"{len(best)} of {len(known)} episodes fit",
        episode_count=len(best),
        episodes=[_shown(episode, scores) for episode, scores in best],
    )
    return Amendment(value)


def _scores(episode: Fields, wanted: str, domain: str, now: float) -> Fields:
    parts = [str(episode[name]) for name in ("task", "task_input", "outcome_summary")]
    lessons = texts_in(episode["lessons"])
    semantic = overlap(wanted, " ".join([*parts, str(episode["failure_analysis"]), *lessons]))
    recency = 0.5 ** (max(0.0, now - number_in(episode["at"])) / _HALF_LIFE_S)
    same = 0.5 if domain in ("", "general") else float(episode["domain"] == domain)
    outcome = 0.3 if episode["success"] else 0.7
    outcome += 0.2 * bool(episode["failure_analysis"]) + 0.1 * (len(lessons) >= 3)
    total = 0.5 * semantic + 0.2 * recency + 0.2 * same + 0.1 * min(1.0, outcome)
    return {
        "semantic_score": semantic,
        "recency_score": round(recency, 4),
        "domain_score": same,
        "outcome_relevance": round(min(1.0, outcome), 4),
        "combined_score": round(total, 4),
    }


def _shown(episode: Fields, scores: Fields) -> Fields:
    facts: Fields = {"task_domain": episode["domain"], "success": episode["success"]}
    return {"episode_id": episode["id"], **scores, **facts, "lessons": episode["lessons"]}


def _written(episodes: list[Fields], now: float, most: int) -> str:
    """Episodes for a prompt; what would be too long is left out with all behind it."""
    text_so_far = _HEADING
    for episode in episodes:
        word = "SUCCESS" if episode["success"] else "FAILED"
        age = _age(now - number_in(episode["at"]))
        summary = episode["outcome_summary"] or episode["task"] or episode["task_input"]
        lines = [f"- [{age}, {episode['domain']}] {word}: {summary}"]
        for title, name in _LINES:
            value = episode[name]
            joined = "; ".join(texts_in(value)) if isinstance(value, list) else str(value)
            lines += [f"  {title}: {joined}"] if joined else []
        part = "\n\n" + "\n".join(lines)
        if len(text_so_far) + len(part) > most:
            break
        text_so_far += part
    return text_so_far


def _age(seconds: float) -> str:
    hours = int(max(0.0, seconds) // _HOUR_S)
    if not hours:
        return "just now"
    size, unit = (1, "hour") if hours < 24 else (24, "day") if hours < 720 else (720, "month")
    return f"{plural(hours // size, unit)} ago"
