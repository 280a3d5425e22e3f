"""Learning from run to run: skills, which say how something is done, and episodes of past tasks.

Each name in LIBRARY is an `Amend`: it receives the kept records, the request of an agent, and the
time, and changes nothing itself.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.dialects.reading.fields import words
from whorl.formats.orka.outputs import number_in, object_in, texts_in
from whorl.language.libraries import Amendment
from whorl.language.values import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.language import Json


# The inputs of a brain: objects in any form that agents produce, and their fields.

Fields: TypeAlias = "dict[str, Json]"


def table(value: Json) -> Fields:
    return value if isinstance(value, dict) else {}


def payload_of(value: Json) -> Fields:
    """Returns the subject of an operation: an object, a JSON object in a text, or a bare text."""
    if not isinstance(value, str):
        return table(value)
    parsed = cast("Fields | None", object_in(value))
    if parsed is None and value.strip():
        return {"response": value}
    return parsed or {}


def text(payload: Fields, *names: str, default: str = "") -> str:
    """Returns the first of these fields that is a text or a number, as text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            return str(value)
    return default


def number(payload: Fields, *names: str, default: float) -> float:
    """Returns the first of these fields that exists, from 0 to 1; the default if it is bad."""
    value = next((payload[name] for name in names if payload.get(name) not in (None, "")), default)
    with suppress(TypeError, ValueError):
        if math.isfinite(found := float(cast("str", value))):
            return min(1.0, max(0.0, found))
    return default


def flag(payload: Fields, name: str) -> bool:
    """Returns whether a field is true; an absent one is."""
    return str(payload.get(name)).strip().lower() not in ("false", "0", "no")


def count(payload: Fields, name: str, default: int, most: int) -> int:
    try:
        return min(most, max(1, int(float(str(payload.get(name))))))
    except (ValueError, OverflowError):
        return default


def listed(value: Json, mark: str = ",") -> list[str]:
    """Returns the texts of a list, of one that is written as text, or of objects with an id."""
    if isinstance(value, str):
        return [part.strip().strip("\"'[]") for part in value.split(mark) if part.strip("\"'[] ")]
    return list(filter(None, spoken(value, "id", "name", "node_id", "agent_id", "action")))


def spoken(value: Json, *names: str) -> list[str]:
    """Returns the items of a list as texts; of an object, the first of these fields."""
    return [text(i, *names) if isinstance(i, dict) else to_text(i) for i in items(value)]


def items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def answer(response: str, confidence: Json = "0.0", why: str = "", **more: Json) -> Fields:
    """Returns the result of an operation: its answer, its confidence, and its reason."""
    sure, why = str(confidence), why or response
    return {"response": response, "confidence": sure, "internal_reasoning": why, **more}


# The features of a task: structures and patterns by keywords, words, and likeness of tasks.

STRUCTURES = {
    "decomposition": "break down|split|decompose|divide|parts|components",
    "sequential": "then|step by step|first|next|after|sequence|pipeline",
    "parallel": "simultaneously|parallel|concurrent|fork|at the same time",
    "aggregation": "combine|merge|aggregate|join|collect|summarize",
    "comparison": "compare|versus|difference|contrast|better|worse",
    "transformation": "convert|transform|translate|map|rewrite|format",
    "filtering": "filter|select|extract|pick|remove|exclude|subset",
    "routing": "route|direct|if|decide|branch|choose|switch",
    "iteration": "repeat|loop|iterate|until|converge|refine",
    "validation": "validate|verify|check|confirm|ensure|test|assess",
}
PATTERNS = {
    "analysis": "analyze|understand|examine|investigate|break down|study",
    "synthesis": "synthesize|combine|integrate|build|compose|create from",
    "evaluation": "evaluate|judge|assess|rate|score|quality|review",
    "generation": "generate|create|write|produce|draft|compose",
    "classification": "classify|categorize|label|sort|type|group",
    "extraction": "extract|find|locate|identify|pull out|retrieve",
    "reasoning": "reason|deduce|conclude|infer|logic|because|therefore",
    "planning": "plan|schedule|organize|prioritize|strategy|roadmap",
    "optimization": "optimize|improve|enhance|best|efficient|faster",
    "abstraction": "abstract|generalize|pattern|principle|concept",
}
_OUTPUTS = {"json": "structured", "object": "structured", "structured": "structured"}
_OUTPUTS |= {"list": "list", "array": "list", "bool": "boolean", "boolean": "boolean"}
_OUTPUTS |= {"number": "numeric", "numeric": "numeric", "score": "numeric"}
_LONG = 1_000
_WORD = re.compile(r"[^\W_]{3,}")
# Endings that the forms of one word differ by.
_ENDING = re.compile(r"(?<=...)(?:ation|ating|ated|ate|ing|ion|ied|ie|ed|e|y)$")
_COMMON = frozenset(
    words(
        "the and for from with that this are was were how what when which who will you your not "
        "has have into its can does any all out our but"
    )
)


def features(task: str, description: str, output_format: str = "") -> Fields:
    """Returns the features of a task; a keyword also counts inside of a word."""
    text = f"{task} {description} ".lower()
    shape = "long_text" if len(text) > _LONG else "single_text"
    return {
        "structures": _named_in(text, STRUCTURES),
        "patterns": _named_in(text, PATTERNS),
        "input": shape if text.strip() else "unknown",
        "output": _OUTPUTS.get(output_format.strip().lower(), "text"),
    }


def _named_in(text: str, table: dict[str, str]) -> list[Json]:
    return [name for name, keys in table.items() if any(key in text for key in keys.split("|"))]


def likeness(one: Fields, other: Fields) -> float:
    """Returns how alike two tasks are built, from 0 to 1."""
    score = 0.0
    for name in ("structures", "patterns"):
        first, second = {*texts_in(one.get(name))}, {*texts_in(other.get(name))}
        score += 0.35 * len(first & second) / max(1, len(first | second))
    for name in ("input", "output"):
        score += 0.15 * (one.get(name) == other.get(name))
    return round(score, 4)


def adaptations(source: Fields, target: Fields) -> Fields:
    """Returns how the task of a skill and the current task differ."""
    found: Fields = {}
    for name in ("input", "output"):
        before, after = source.get(name), target.get(name)
        if before != after:
            advice = f"turn {after} into {before}, or change the steps so that they take {after}"
            found[f"{name}_adaptation"] = {"from": before, "to": after, "suggestion": advice}
    had, wanted = texts_in(source.get("structures")), texts_in(target.get("structures"))
    added, removed = [p for p in wanted if p not in had], [p for p in had if p not in wanted]
    changes: Fields = {"add_structures": [*added], "remove_structures": [*removed]}
    return found | {name: parts for name, parts in changes.items() if parts}


def overlap(wanted: str, text: str) -> float:
    """Returns how many words of one text another one has, by their stems."""
    asked, there = _stems(wanted), _stems(text)
    if not asked or not there:
        return 0.0
    # Of two texts of very different lengths the shorter one decides.
    return round(len(asked & there) / math.sqrt(len(asked) * min(len(asked), len(there))), 4)


def _stems(text: str) -> set[str]:
    words = {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
    return {_ENDING.sub("", word.removesuffix("s") if len(word) > 3 else word) for word in words}


STEPS_MAX = 8
_ACTION_MAX = 60
_LIKE_ENOUGH = 0.7
_SENTENCE = re.compile(r"[^.!?\n]{20,400}")
# Words of sentences that give an instruction.
_KEYWORDS = [
    word for keys in (*STRUCTURES.values(), *PATTERNS.values()) for word in keys.split("|")
]
_ACTIONS = frozenset(word for word in _KEYWORDS if " " not in word and len(word) > 3)


def learn(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps the steps of an answer as a skill, or counts a use of one that is like it."""
    payload = payload_of(given.get("payload"))
    response, steps = text(payload, "response"), _steps(payload)
    if not steps:
        why = "there is nothing to learn: the answer has no steps and names no actions"
        return Amendment(answer(why))
    quality = number(payload, "confidence", default=0.5)
    task, found = _task(payload, response)
    sure = min(0.7, 0.5 + 0.2 * quality)
    new = _skill(payload, "procedural", steps, found, task=task, about=response, confidence=sure)
    kind = [*texts_in(found["patterns"])[:1], *texts_in(found["structures"])[:1]]
    usual = f"procedural:{new['domain']}:{'-'.join(kind) or 'steps'}"
    return _kept(records, given, new, now, usual=usual)


def learn_recipe(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps which agents did a task, and how they were combined."""
    payload = payload_of(given.get("payload"))
    pattern = text(payload, "pattern", "strategy", default="sequential")
    quality = number(payload, "quality", "confidence", default=0.7)
    agents = listed(payload.get("agents"))
    new = _run_by(payload, agents, "execution_recipe", min(0.7, 0.5 + 0.2 * quality))
    usual = f"recipe:{new['domain']}:{pattern}-{'+'.join(agents[:3])}"
    return _kept(records, given, new, now, usual=usual, same="steps")


def learn_path(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps a path of agents that a scout has chosen."""
    payload = payload_of(given.get("payload"))
    agents = listed(payload.get("path_nodes") or payload.get("path"), "→")
    score = number(payload, "score", "confidence", default=0.5)
    new = _run_by(payload, agents, "graph_path", min(0.8, score))
    usual = f"path:{new['domain']}:{'→'.join(agents[:4])}"
    return _kept(records, given, new, now, usual=usual, same="steps")


def _run_by(payload: Fields, agents: list[str], kind: str, confidence: float) -> Fields:
    """Returns a skill that lists the agents that run."""
    task = text(payload, "task", default="unknown")
    found = features(task, "", text(payload, "output_format"))
    about = f"{task[:300]}: {' → '.join(agents)}"
    new = _skill(payload, kind, agents, found, task=task, about=about, confidence=confidence)
    return {**new, "is_lesson": flag(payload, "success")}


def learn_anti(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps a failure, so that later runs are warned of it."""
    payload = payload_of(given.get("payload"))
    failed = text(payload, "what_failed", "response")
    if not failed:
        return Amendment(answer("there is nothing to learn: 'what_failed' is empty"))
    why, severity = text(payload, "why", "reason", default="unknown"), text(payload, "severity")
    task = text(payload, "task", default=failed[:200])
    steps, found = [_cut(f"avoid: {failed}")], features(task, failed[:100])
    about = f"{failed[:300]} ({why[:90]})"
    new = _skill(payload, "anti_pattern", steps, found, task=task, about=about, confidence=0.9)
    tags = [*texts_in(new["tags"]), "anti-pattern", severity or "warning"]
    new |= {"success_rate": 0.0, "anti_signals": [why], "tags": [*dict.fromkeys(tags)]}
    slug = re.sub(r"[^a-z0-9]+", "-", failed.lower()).strip("-")[:40]
    return _kept(records, given, new, now, usual=f"anti:{new['domain']}:{slug}", same="name")


def _task(payload: Fields, response: str) -> tuple[str, Fields]:
    """Returns the name of a task, and its features; an answer may replace both."""
    task = text(payload, "task", default=response[:200])
    return task, features(task, text(payload, "input_description", default=response[:100]))


def _skill(
    payload: Fields,
    kind: str,
    steps: list[str],
    found: Fields,
    *,
    task: str,
    about: str,
    confidence: float,
) -> Fields:
    domain = text(payload, "domain", default="general")
    named = (*texts_in(found["structures"]), *texts_in(found["patterns"]), domain)
    return {
        "skill_type": kind,
        "name": text(payload, "skill_name"),
        "steps": [*steps],
        "features": found,
        "confidence": round(confidence, 4),
        "domain": domain,
        "task": task[:400],
        "description": about[:400],
        "tags": [*dict.fromkeys(named)],
    }


def _steps(payload: Fields) -> list[str]:
    texts = spoken(payload.get("steps"), "action", "agent_id", "description", "result", "name")
    if found := [_cut(step) for step in texts if step.strip()]:
        return found
    speech = max(text(payload, "response"), text(payload, "internal_reasoning"), key=len)
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(speech[:20_000]))
    acting = (s for s in sentences if len(s) >= 20 and not _ACTIONS.isdisjoint(s.lower().split()))
    return [_cut(sentence) for sentence in acting][:STEPS_MAX]


def _cut(action: str) -> str:
    action = " ".join(action.split())
    return action if len(action) <= _ACTION_MAX else f"{action[: _ACTION_MAX - 1]}…"


def _kept(
    records: list[Json], given: Fields, new: Fields, now: float, *, usual: str, same: str = ""
) -> Amendment:
    """Returns a new skill, or the known skill of its kind that it uses again.

    The name in a file decides; else the steps of the skills (`same`), or their likeness.
    """
    kept, gone = skills_in(records, now)
    of_kind = [skill for skill in kept if skill["skill_type"] == new["skill_type"]]
    is_lesson = bool(new.pop("is_lesson", True))
    keys = ["name"] if new["name"] else [same, "domain"] if same else []
    new["name"] = new["name"] or usual
    alike = [skill for skill in of_kind if all(skill[key] == new[key] for key in keys)]
    if not keys:
        scored = [(likeness(table(s["features"]), table(new["features"])), s) for s in of_kind]
        scored.sort(key=lambda pair: -pair[0])
        alike = [skill for score, skill in scored if score >= _LIKE_ENOUGH]
    found = next(iter(alike), None)
    if found is not None:
        skill = used(found, now, success=is_lesson)
        why = f"it uses the known skill {skill['name']!r}"
    elif not is_lesson or not new["steps"]:
        return Amendment(answer("nothing was learned: it did not succeed, or names no agents"))
    else:
        fresh: Fields = {"usage_count": 1, "success_rate": 1.0, "transfers": [], "created_at": now}
        skill = _renewed({"id": given.get("key"), **fresh, **new, "updated_at": now}, now)
        why = f"it is new: {' → '.join(texts_in(skill['steps']))}"
    response = f"Learned {skill['name']}: {why}"
    return Amendment(answer(response, skill["confidence"], why, **facts(skill)), skill, gone)


# Skills: found again by what a task is like, and told how they did.

TRANSFERS_MAX = 50
_WEEK_S = 168 * 3_600.0


def skills_in(records: list[Json], now: float) -> tuple[list[Fields], frozenset[str]]:
    """Returns the skills that have not expired, and the ids of those that have."""
    known = [record for record in map(table, records) if "skill_type" in record]
    gone = {str(s["id"]) for s in known if isinstance(t := s.get("expires_at"), float) and t <= now}
    return [skill for skill in known if skill["id"] not in gone], frozenset(gone)


def facts(skill: Fields) -> Fields:
    """Returns the fields of a skill that templates read."""
    parts = words("id name type steps tags")
    return {f"skill_{part}": skill.get(part, skill["skill_type"]) for part in parts}


def used(skill: Fields, now: float, *, success: bool) -> Fields:
    """Returns a skill after one more use; a success makes it surer, and extends its life."""
    confidence, uses = number_in(skill["confidence"]), int(number_in(skill["usage_count"]))
    rate = (number_in(skill["success_rate"]) * uses + success) / (uses + 1)
    change = 0.05 * (1 - confidence) if success else -0.1 * confidence
    counted = {"usage_count": uses + 1, "success_rate": round(rate, 4), "updated_at": now}
    changed: Fields = {**skill, "confidence": round(confidence + change, 4), **counted}
    return _renewed(changed, now) if success else changed


def _renewed(skill: Fields, now: float) -> Fields:
    uses, confidence = number_in(skill["usage_count"]), number_in(skill["confidence"])
    life_s = _WEEK_S * (1 + math.log2(max(1.0, uses))) * (0.5 + confidence)
    return {**skill, "expires_at": now + life_s}


def find_skill(records: list[Json], given: Fields, now: float) -> Amendment:
    """Finds the skills that fit a task, the best first."""
    payload = payload_of(given.get("payload"))
    kept, gone = skills_in(records, now)
    types, domain = texts_in(payload.get("skill_types")), text(payload, "domain_filter")
    task, wanted = _task(payload, text(payload, "response"))
    about = f"{task} {text(payload, 'domain')} {text(payload, 'input_description')}"
    fitting = (s for s in kept if not types or s["skill_type"] in types)
    rated = ((s, _scores(s, wanted, about)) for s in fitting if domain in ("", s["domain"]))
    best = best_of(rated, payload, top_k=3, min_score=0.5)
    candidates: list[Json] = [
        {"skill_name": s["name"], "score": found["combined_score"], "reasoning": _why(s, found)}
        for s, found in best
    ]
    if not best:
        least = number(payload, "min_score", default=0.5)
        why = f"none of {len(kept)} skills fits this task with a score of at least {least:g}"
        return Amendment(answer(why, all_candidates=[]), None, gone)
    skill, scores = best[0]
    total = number_in(scores["combined_score"])
    steps = " → ".join(texts_in(skill["steps"]))
    response = f"Recalled {skill['name']} (score {total:.2f}): {steps}"
    value: Fields = {
        **answer(response, total, _why(skill, scores)),
        **facts(skill),
        **scores,
        "adaptations": adaptations(table(skill["features"]), wanted),
        "all_candidates": candidates,
    }
    return Amendment(value, None, gone)


def best_of(
    rated: Iterable[tuple[Fields, Fields]], payload: Fields, *, top_k: int, min_score: float
) -> list[tuple[Fields, Fields]]:
    """Returns the records with the highest scores, with limits on their count and score."""
    least = number(payload, "min_score", default=min_score)
    good = [row for row in rated if number_in(row[1]["combined_score"]) >= least]
    good.sort(key=lambda row: -number_in(row[1]["combined_score"]))
    return good[: count(payload, "top_k", top_k, 100)]


def _scores(skill: Fields, wanted: Fields, about: str) -> Fields:
    structural = likeness(table(skill["features"]), wanted)
    known = " ".join(map(to_text, (skill["task"], skill["domain"], skill["description"])))
    semantic = overlap(about, f"{known} {' '.join(texts_in(skill['steps']))}")
    history = [table(transfer).get("success") for transfer in items(skill["transfers"])]
    transfer = history.count(True) / len(history) if history else 0.5
    total = 0.35 * structural + 0.25 * semantic + 0.25 * transfer
    total += 0.15 * number_in(skill["confidence"])
    if semantic < 0.1 and structural < 0.6:
        total = 0.0
    parts: Fields = {"structural_score": structural, "semantic_score": semantic}
    return {"combined_score": round(total, 4), **parts}


def _why(skill: Fields, scores: Fields) -> str:
    ways = f"structure {scores['structural_score']}, words {scores['semantic_score']}"
    if signals := texts_in(skill.get("anti_signals")):
        ways += f"; to be avoided, because: {'; '.join(signals)}"
    return f"{skill['name']} fits by {ways}"


def feedback(records: list[Json], given: Fields, now: float) -> Amendment:
    """Counts the result of a skill after its use."""
    payload = payload_of(given.get("payload"))
    wanted = text(payload, "skill_id")
    kept, gone = skills_in(records, now)
    found = next((skill for skill in kept if skill["id"] == wanted), None)
    if found is None:
        why = f"there is no skill with the id {wanted[:60]!r}"
        value = answer(why, skill_id=wanted, transfer_success=False)
        return Amendment(value, None, gone, why if wanted else "")
    success = flag(payload, "success")
    transfer: Fields = {"task": text(payload, "task")[:400], "success": success, "at": now}
    transfers = [*items(found["transfers"]), transfer][-TRANSFERS_MAX:]
    skill = used({**found, "transfers": transfers}, now, success=success)
    well = "well" if success else "badly"
    value = answer(
        f"{skill['name']} did {well}; its confidence is {skill['confidence']}",
        skill["confidence"],
        f"{len(transfers)} uses are known",
        skill_id=skill["id"],
        skill_name=skill["name"],
        transfer_count=len(transfers),
        transfer_success=success,
    )
    return Amendment(value, skill, gone)


def advise(records: list[Json], given: Fields, now: float) -> Amendment:
    """Returns the skills' support for each of some paths, from -1 to 1."""
    kept, gone = skills_in(records, now)
    question = text(given, "question")
    boosts: list[Json] = []
    for path in items(given.get("paths")):
        agents = texts_in(path)
        boost = 0.0
        for skill in kept:
            weight = max(0.2, overlap(str(skill["task"]), question))
            weight *= number_in(skill["confidence"])
            steps = texts_in(skill["steps"])
            if skill["skill_type"] in ("graph_path", "execution_recipe"):
                boost += weight * number_in(skill["success_rate"]) * (steps == agents)
            elif skill["skill_type"] == "anti_pattern":
                boost -= weight * any(agent in str(skill["description"]) for agent in agents)
        boosts.append(round(min(1.0, max(-1.0, boost)), 4))
    return Amendment(boosts, None, gone)


# Episodes: what happened when a task was done, and what it taught, for later tasks.

PER_DOMAIN_MAX = 200
FAILURES_MAX = 400
_HALF_LIFE_S = 168 * 3_600.0
_CHARACTERS_A_TOKEN = 4
_TEXTS = ("task_input", "task", "outcome_summary", "failure_analysis", "model", "strategy")
_LISTS = ("what_worked", "what_failed", "lessons", "agents")
_HEADING = "Relevant past experience:"
_LINES = {"Lessons": "lessons", "What failed": "what_failed", "Root cause": "failure_analysis"}
_LINES["What worked"] = "what_worked"


def record_episode(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps an episode: the newest ones of each domain, and the newest failures of all."""
    payload = payload_of(given.get("payload"))
    quality = number(payload, "quality", default=0.5)
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
    episodes = _episodes(records)
    ended = "well" if success else "badly"
    value = answer(
        f"Recorded an episode of {domain} that ended {ended}",
        quality,
        f"{len(episodes) + 1} episodes are known",
        episode_id=episode["id"],
        episode_domain=domain,
        episode_success=success,
    )
    # Failures are kept longer than successes.
    failures = [known for known in episodes if not known["success"]]
    beside = [e for e in episodes if e["success"] and e["domain"] == domain]
    gone = beside[: max(0, len(beside) - PER_DOMAIN_MAX + 1)]
    gone += failures[: max(0, len(failures) - FAILURES_MAX + 1)]
    return Amendment(value, episode, frozenset(str(old["id"]) for old in gone))


def _episodes(records: list[Json]) -> list[Fields]:
    return [found for found in map(table, records) if found.get("episode")]


def find_episodes(records: list[Json], given: Fields, now: float) -> Amendment:
    """Finds the episodes that help with a task, the best first, and as a text for prompts."""
    payload = payload_of(given.get("payload"))
    wanted = f"{text(payload, 'task_input', 'input', 'response')} {text(payload, 'task')}"
    domain, only = text(payload, "domain", default="general"), text(payload, "domain_filter")
    with_failures = flag(payload, "include_failures")
    known = _episodes(records)
    newest = sorted(known, key=lambda episode: -number_in(episode["at"]))
    fitting = [e for e in newest if (with_failures or e["success"]) and only in ("", e["domain"])]
    rated = ((episode, _scores_of(episode, wanted, domain, now)) for episode in fitting)
    # Without a word or a domain in common, an episode has nothing to do with the task.
    related = (row for row in rated if row[1]["semantic_score"] or row[1]["domain_score"])
    best = best_of(related, payload, top_k=5, min_score=0.2)
    if not best:
        why = "no past episode is related to this task"
        return Amendment(answer(why, episode_count=0, episodes=[]))
    most = count(payload, "max_tokens", 1_500, 100_000) * _CHARACTERS_A_TOKEN
    shown: list[Json] = []
    for episode, scores in best:
        rest = {"task_domain": episode["domain"], "success": episode["success"]}
        rest |= {"lessons": episode["lessons"]}
        shown.append({"episode_id": episode["id"], **scores, **rest})
    value = answer(
        _written([episode for episode, _ in best], most),
        best[0][1]["combined_score"],
        f"{len(best)} of {len(known)} episodes fit",
        episode_count=len(best),
        episodes=shown,
    )
    return Amendment(value)


def _scores_of(episode: Fields, wanted: str, domain: str, now: float) -> Fields:
    parts = [str(episode[name]) for name in ("task", "task_input", "outcome_summary")]
    lessons = texts_in(episode["lessons"])
    semantic = overlap(wanted, " ".join([*parts, str(episode["failure_analysis"]), *lessons]))
    recency = 0.5 ** (max(0.0, now - number_in(episode["at"])) / _HALF_LIFE_S)
    same = 0.5 if domain in ("", "general") else float(episode["domain"] == domain)
    outcome = 0.3 if episode["success"] else 0.7
    outcome += 0.2 * bool(episode["failure_analysis"]) + 0.1 * (len(lessons) >= 3)
    total = 0.5 * semantic + 0.2 * recency + 0.2 * same + 0.1 * min(1.0, outcome)
    rated: Fields = {"semantic_score": semantic, "recency_score": round(recency, 4)}
    rated |= {"domain_score": same, "outcome_relevance": round(min(1.0, outcome), 4)}
    return {**rated, "combined_score": round(total, 4)}


def _written(episodes: list[Fields], most: int) -> str:
    """Writes episodes for a prompt; if the text is too long, the rest is left out."""
    text_so_far = _HEADING
    for episode in episodes:
        word = "SUCCESS" if episode["success"] else "FAILED"
        day = datetime.fromtimestamp(number_in(episode["at"]), UTC).date()
        summary = episode["outcome_summary"] or episode["task"] or episode["task_input"]
        lines = [f"- [{day}, {episode['domain']}] {word}: {summary}"]
        for title, name in _LINES.items():
            value = episode[name]
            joined = "; ".join(texts_in(value)) if isinstance(value, list) else str(value)
            lines += [f"  {title}: {joined}"] if joined else []
        part = "\n\n" + "\n".join(lines)
        if len(text_so_far) + len(part) > most:
            break
        text_so_far += part
    return text_so_far
