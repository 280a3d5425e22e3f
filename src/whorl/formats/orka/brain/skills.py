"""Skills: ways of doing something that were learnt, found again by what a task is like.

`find`, `feedback` and `advise` are `Amend`s: they are given the records that are kept, what an
agent asks for, and the time; they change nothing themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.formats.orka.brain.features import (
    adaptations,
    features,
    likeness,
    overlap,
)
from whorl.formats.orka.brain.payload import (
    Fields,
    count,
    flag,
    items,
    number,
    number_in,
    payload_of,
    table,
    text,
)
from whorl.formats.orka.outputs import texts_in
from whorl.language.libraries import Amendment
from whorl.language.values import to_text

if TYPE_CHECKING:
    from whorl.language import Json

TRANSFERS_MAX = 50
_WEEK_S = 168 * 3_600.0


def skills_in(records: list[Json], now: float) -> tuple[list[Fields], frozenset[str]]:
    """The skills that have not expired, and the ids of those that have."""
    known = [record for record in map(table, records) if "skill_type" in record]
    gone = {str(s["id"]) for s in known if isinstance(t := s.get("expires_at"), float) and t <= now}
    return [skill for skill in known if skill["id"] not in gone], frozenset(gone)


def facts(skill: Fields) -> Fields:
    """What templates read of a skill."""
    return {
        "skill_id": skill["id"],
        "skill_name": skill["name"],
        "skill_type": skill["skill_type"],
        "skill_steps": skill["steps"],
        "skill_tags": skill["tags"],
    }


def used(skill: Fields, now: float, *, success: bool) -> Fields:
    """A skill after one more use; one that went well makes it surer, and lets it live longer."""
    confidence, uses = number_in(skill["confidence"]), int(number_in(skill["usage_count"]))
    rate = (number_in(skill["success_rate"]) * uses + success) / (uses + 1)
    change = 0.05 * (1 - confidence) if success else -0.1 * confidence
    changed: Fields = {
        **skill,
        "confidence": round(confidence + change, 4),
        "usage_count": uses + 1,
        "success_rate": round(rate, 4),
        "updated_at": now,
    }
    return renewed(changed, now) if success else changed


def renewed(skill: Fields, now: float) -> Fields:
    uses, confidence = number_in(skill["usage_count"]), number_in(skill["confidence"])
    life_s = _WEEK_S * (1 + math.log2(max(1.0, uses))) * (0.5 + confidence)
    return {**skill, "expires_at": now + life_s}


def find(records: list[Json], given: Fields, now: float) -> Amendment:
    """The skills that fit a task, the best first."""
    payload = payload_of(given.get("payload"))
    kept, gone = skills_in(records, now)
    types, domain = texts_in(payload.get("skill_types")), text(payload, "domain_filter")
    response = text(payload, "response")
    task = text(payload, "task", default=response[:200])
    wanted = features(task, text(payload, "input_description", default=response[:100]), None)
    about = f"{task} {text(payload, 'domain')} {text(payload, 'input_description')}"
    least = number(payload, "min_score", default=0.5)[0]
    scored: list[tuple[float, Fields, Fields]] = []
    for skill in kept:
        if (types and skill["skill_type"] not in types) or (domain and skill["domain"] != domain):
            continue
        scores = _scores(skill, wanted, about)
        if (total := number_in(scores["combined_score"])) >= least:
            scored.append((total, skill, scores))
    scored.sort(key=lambda row: -row[0])
    scored = scored[: count(payload, "top_k", 3, 100)]
    candidates: list[Json] = [
        {"skill_name": skill["name"], "score": total, "reasoning": _why(skill, scores)}
        for total, skill, scores in scored
    ]
    if not scored:
        why = f"none of {len(kept)} skills fits this task with a score of at least {least:g}"
        nothing: Fields = {"response": why, "confidence": "0.0", "internal_reasoning": why}
        return Amendment({**nothing, "all_candidates": []}, None, gone)
    total, skill, scores = scored[0]
    steps = " → ".join(texts_in(skill["steps"]))
    value: Fields = {
        "response": f"Recalled {skill['name']} (score {total:.2f}): {steps}",
        "confidence": str(total),
        "internal_reasoning": _why(skill, scores),
        **facts(skill),
        **scores,
        "adaptations": adaptations(table(skill["features"]), wanted),
        "all_candidates": candidates,
    }
    return Amendment(value, None, gone)


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
    return {
        "combined_score": round(total, 4),
        "structural_score": structural,
        "semantic_score": semantic,
    }


def _why(skill: Fields, scores: Fields) -> str:
    words = f"structure {scores['structural_score']}, words {scores['semantic_score']}"
    if signals := texts_in(skill.get("anti_signals")):
        words += f"; to be avoided, because: {'; '.join(signals)}"
    return f"{skill['name']} fits by {words}"


def feedback(records: list[Json], given: Fields, now: float) -> Amendment:
    """Counts how a skill did where it was used."""
    payload = payload_of(given.get("payload"))
    wanted = text(payload, "skill_id")
    kept, gone = skills_in(records, now)
    found = next((skill for skill in kept if skill["id"] == wanted), None)
    if found is None:
        why = "'skill_id' is empty: name the skill that the feedback is about"
        if wanted:
            why = f"there is no skill with the id {wanted[:60]!r}"
        value: Fields = {"response": why, "confidence": "0.0", "internal_reasoning": why}
        if wanted:
            value |= {"skill_id": wanted, "transfer_success": False}
        return Amendment(value, None, gone, why if wanted else "")
    success = flag(payload, "success")
    transfer: Fields = {
        "domain": text(payload, "domain"),
        "task": text(payload, "task", "skill_name")[:400],
        "success": success,
        "adaptations": table(payload.get("adaptations")),
        "at": now,
    }
    transfers = [*items(found["transfers"]), transfer][-TRANSFERS_MAX:]
    skill = used({**found, "transfers": transfers}, now, success=success)
    well = "well" if success else "badly"
    value = {
        "response": f"{skill['name']} did {well}; its confidence is {skill['confidence']}",
        "confidence": str(skill["confidence"]),
        "internal_reasoning": f"{len(transfers)} uses are known",
        "skill_id": skill["id"],
        "skill_name": skill["name"],
        "transfer_count": len(transfers),
        "transfer_success": success,
    }
    return Amendment(value, skill, gone)


def advise(records: list[Json], given: Fields, now: float) -> Amendment:
    """For each of some paths, what skills say for it or against it, from -1 to 1."""
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
