"""Learning: what became of a task is kept as a skill, or counts as a use of one that is known.

The functions `learn...` are `Amend`s, as those of `skills` are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.formats.orka.brain.features import (
    PATTERNS,
    STRUCTURES,
    features,
    likeness,
)
from whorl.formats.orka.brain.payload import (
    Fields,
    flag,
    listed,
    number,
    payload_of,
    table,
    text,
)
from whorl.formats.orka.brain.skills import facts, renewed, skills_in, used
from whorl.formats.orka.outputs import texts_in
from whorl.language.libraries import Amendment
from whorl.language.values import to_text

if TYPE_CHECKING:
    from whorl.language import Json


STEPS_MAX = 8
_ACTION_MAX = 60
_LIKE_ENOUGH = 0.7
_SENTENCE = re.compile(r"[^.!?\n]{20,400}")
# Words by which a sentence tells what to do, besides those of the tables.
_OTHERS = (
    "add apply ask assign avoid call change clean close compute configure copy count define "
    "delete deploy describe design detect document download estimate execute explain export "
    "fetch fix gather handle implement import install list load measure monitor move normalize "
    "notify open parse prepare present process propose provide publish read record replace "
    "report request resolve respond restart save search send separate set show solve start stop "
    "store submit suggest train update upload use wait weigh"
)
_ACTIONS = frozenset(
    word
    for table in (STRUCTURES, PATTERNS)
    for words in table.values()
    for word in words.split("|")
    if " " not in word and len(word) > 3
) | frozenset(_OTHERS.split())


def learn(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps the steps of an answer as a skill, or counts a use of one that is like it."""
    payload = payload_of(given.get("payload"))
    response = text(payload, "response")
    steps = _steps(payload)
    if not steps:
        return _nothing("there is nothing to learn: the answer has no steps and names no actions")
    quality, warning = number(payload, "confidence", default=0.5)
    task = text(payload, "task", default=response[:200])
    found = features(task, text(payload, "input_description", default=response[:100]), None)
    new: Fields = {
        "skill_type": "procedural",
        "name": text(payload, "skill_name"),
        "steps": [*steps],
        "features": found,
        "confidence": round(min(0.7, 0.5 + 0.2 * quality), 4),
        "description": response[:400],
        **_about(payload, task, found),
    }
    domain, patterns = str(new["domain"]), texts_in(found["patterns"])
    kind = "-".join([*patterns[:1], *texts_in(found["structures"])[:1]]) or "steps"
    return _kept(records, given, new, now, warning, usual=f"procedural:{domain}:{kind}")


def learn_recipe(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps which agents did a task, and how they were put together."""
    payload = payload_of(given.get("payload"))
    agents = listed(payload.get("agents"))
    pattern = text(payload, "pattern", "strategy", default="sequential")
    quality, warning = number(payload, "quality", "confidence", default=0.7)
    new = _run_by(payload, agents, "execution_recipe", min(0.7, 0.5 + 0.2 * quality))
    new["recipe"] = {"pattern": pattern, "agents": [*agents], "total_agents": len(agents)}
    usual = f"recipe:{new['domain']}:{pattern}-{'+'.join(agents[:3])}"
    return _kept(records, given, new, now, warning, usual=usual, same="agents")


def learn_path(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps a path of agents that a scout has chosen."""
    payload = payload_of(given.get("payload"))
    agents = listed(payload.get("path_nodes") or payload.get("path"), "→")
    score, warning = number(payload, "score", "confidence", default=0.5)
    new = _run_by(payload, agents, "graph_path", min(0.8, score))
    new["recipe"] = {
        "pattern": "graphscout-path",
        "agents": [*agents],
        "total_agents": len(agents),
        "graphscout_score": score,
        "budget_used": table(payload.get("budget_used")),
    }
    usual = f"path:{new['domain']}:{'→'.join(agents[:4])}"
    return _kept(records, given, new, now, warning, usual=usual, same="agents")


def learn_anti(records: list[Json], given: Fields, now: float) -> Amendment:
    """Keeps what went wrong, so that it is warned of."""
    payload = payload_of(given.get("payload"))
    failed = text(payload, "what_failed", "response")
    if not failed:
        return _nothing("there is nothing to learn: 'what_failed' is empty")
    why, severity = text(payload, "why", "reason", default="unknown"), text(payload, "severity")
    task = text(payload, "task", default=failed[:200])
    found = features(task, failed[:100], None)
    new: Fields = {
        "skill_type": "anti_pattern",
        "name": text(payload, "skill_name"),
        "steps": [_cut(f"avoid: {failed}")],
        "features": found,
        "confidence": 0.9,
        "success_rate": 0.0,
        "anti_signals": [why],
        "description": f"{failed[:300]} ({why[:90]})",
        **_about(payload, task, found, "anti-pattern", severity or "warning"),
    }
    slug = re.sub(r"[^a-z0-9]+", "-", failed.lower()).strip("-")[:40]
    return _kept(records, given, new, now, "", usual=f"anti:{new['domain']}:{slug}", same="name")


def _run_by(payload: Fields, agents: list[str], kind: str, confidence: float) -> Fields:
    """A skill that says which agents run."""
    task = text(payload, "task", default="unknown")
    found = features(task, "", None, text(payload, "output_format"))
    return {
        "skill_type": kind,
        "name": text(payload, "skill_name"),
        "steps": [*agents],
        "features": found,
        "confidence": round(confidence, 4),
        "description": f"{task[:300]}: {' → '.join(agents)}"[:400],
        "is_lesson": flag(payload, "success"),
        **_about(payload, task, found),
    }


def _about(payload: Fields, task: str, found: Fields, *tags: str) -> Fields:
    domain = text(payload, "domain", default="general")
    named = [*texts_in(found["structures"]), *texts_in(found["patterns"]), domain, *tags]
    return {"domain": domain, "task": task[:400], "tags": [*dict.fromkeys(named)]}


def _steps(payload: Fields) -> list[str]:
    written = payload.get("steps")
    steps = written if isinstance(written, list) else []
    names = ("action", "agent_id", "description", "result", "name")
    texts = (text(step, *names) if isinstance(step, dict) else to_text(step) for step in steps)
    if found := [_cut(step) for step in texts if step.strip()]:
        return found
    spoken = max(text(payload, "response"), text(payload, "internal_reasoning"), key=len)
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(spoken[:20_000]))
    acting = (s for s in sentences if len(s) >= 20 and not _ACTIONS.isdisjoint(s.lower().split()))
    return [_cut(sentence) for sentence in acting][:STEPS_MAX]


def _cut(action: str) -> str:
    action = " ".join(action.split())
    return action if len(action) <= _ACTION_MAX else f"{action[: _ACTION_MAX - 1]}…"


def _nothing(why: str) -> Amendment:
    return Amendment({"response": why, "confidence": "0.0", "internal_reasoning": why})


def _kept(
    records: list[Json],
    given: Fields,
    new: Fields,
    now: float,
    warning: str,
    *,
    usual: str,
    same: str = "",
) -> Amendment:
    """A new skill, or the one of its kind that it is a use of.

    The name that a file gives decides; else what the skills do (`same`), or what they are like.
    """
    kept, gone = skills_in(records, now)
    of_kind = [skill for skill in kept if skill["skill_type"] == new["skill_type"]]
    is_lesson = bool(new.pop("is_lesson", True))
    if name := new["name"]:
        found = next((skill for skill in of_kind if skill["name"] == name), None)
    elif same:
        alike = "steps" if same == "agents" else "name"
        new["name"] = usual
        matching = (s for s in of_kind if s[alike] == new[alike] and s["domain"] == new["domain"])
        found = next(matching, None)
    else:
        new["name"] = usual
        scored = [(likeness(table(s["features"]), table(new["features"])), s) for s in of_kind]
        likest = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        found = likest[1] if likest[0] >= _LIKE_ENOUGH else None
    if found is not None:
        skill = used(found, now, success=is_lesson)
        why = f"it is a use of {skill['name']!r}, which is known"
    elif not is_lesson or not new["steps"]:
        return _nothing("nothing was learned: it did not succeed, or names no agents")
    else:
        fresh: Fields = {"usage_count": 1, "success_rate": 1.0, "transfers": [], "created_at": now}
        skill = renewed({"id": given.get("key"), **fresh, **new, "updated_at": now}, now)
        why = f"it is new: {' → '.join(texts_in(skill['steps']))}"
    value: Fields = {
        "response": f"Learned {skill['name']}: {why}",
        "confidence": str(skill["confidence"]),
        "internal_reasoning": why,
        **facts(skill),
    }
    return Amendment(value, skill, gone, warning)
