"""What a brain learns, finds again and is told about, by the functions that change its memory."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from test_orka_memory import perform

from whorl.formats.orka import brain as learning
from whorl.providers.task import Request
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.language import Json
    from whorl.language.libraries import Amendment

NOW = 1_700_000_000.0
HOUR_S = 3_600.0
SOLVED = (
    '{"response":"Verdict: B","confidence":0.9,"domain":"essays",'
    '"task":"compare two drafts then summarize",'
    '"steps":["list the differences","weigh each difference","write a verdict"]}'
)
NEXT = '{"domain":"law","task":"compare two drafted contracts then summarize"}'


class Brain:
    """A memory in a list, changed as the store changes it."""

    def __init__(self) -> None:
        self.records: list[Json] = []
        self.calls = 0

    def __call__(
        self, change: Callable[..., Amendment], payload: Any, *, at: float = NOW, **more: Any
    ) -> Any:
        self.calls += 1
        key = f"key-{self.calls}"
        made = change(self.records, {"payload": payload, "key": key, **more}, at)
        gone = {*made.drops, *([made.record["id"]] if made.record else [])}
        kept = [record for record in self.records if cast("Any", record)["id"] not in gone]
        self.records = [*kept, *([made.record] if made.record else [])]
        self.warning = made.warning
        return made.value


@pytest.fixture
def brain() -> Brain:
    return Brain()


def test_one_kind_of_skill_is_never_taken_for_another(brain: Brain) -> None:
    task = {"task": "deploy the service", "domain": "ops"}
    recipe = brain(learning.learn_recipe, {**task, "agents": ["build", {"id": "ship"}]})
    path = brain(learning.learn_path, {**task, "path": "build → ship", "score": 0.9})
    anti = brain(learning.learn_anti, {**task, "what_failed": "ship before build", "why": "order"})

    assert recipe["skill_name"] == "recipe:ops:sequential-build+ship"
    assert path["skill_name"] == "path:ops:build→ship"
    assert path["confidence"] == "0.8"
    assert anti["skill_name"] == "anti:ops:ship-before-build"
    assert anti["skill_type"] == "anti_pattern"
    assert "anti-pattern" in anti["skill_tags"]
    assert len(brain.records) == 3
    only = brain(learning.find_skill, {**task, "skill_types": ["anti_pattern"], "min_score": 0.1})
    assert only["skill_name"] == anti["skill_name"]
    assert "order" in only["internal_reasoning"]


@pytest.mark.parametrize(
    ("payload", "steps"),
    [
        *((nothing, None) for nothing in ("", {}, "Yes.", {"response": "It is 42."}, '"{}"', None)),
        # What is hostile is a text.
        *((text, None) for text in ("(" * 5_000, "{" * 5_000)),
        ({"steps": ["check it"], "task": "t"}, ["check it"]),
        ('{"steps": ["check it"], "task": "t"}', ["check it"]),
        ('```json\n{"steps": ["check it"], "task": "t"}\n```', ["check it"]),
        ("First validate all records, please", ["First validate all records, please"]),
    ],
)
def test_payloads_are_read_in_every_form(brain: Brain, payload: Json, steps: Json) -> None:
    value = brain(learning.learn, payload)

    assert value.get("skill_steps") == steps
    assert (value["confidence"] == "0.0") is (brain.records == []) is (steps is None)


def test_a_failed_path_is_not_learnt(brain: Brain) -> None:
    value = brain(learning.learn_path, {"path": ["a", "b"], "success": "no"})

    assert (value["confidence"], "skill_id" in value, brain.records) == ("0.0", False, [])


def test_an_invalid_confidence_is_the_usual_one(brain: Brain) -> None:
    assert brain(learning.learn, {"steps": ["check"], "confidence": "high"})["confidence"] == "0.6"


def test_skills_expire(brain: Brain) -> None:
    brain(learning.learn, SOLVED)
    assert brain(learning.find_skill, NEXT, at=NOW + 190 * HOUR_S)["skill_name"]
    assert "skill_name" not in brain(learning.find_skill, NEXT, at=NOW + 210 * HOUR_S)
    assert brain.records == []


def test_skills_transfer_to_another_domain(brain: Brain) -> None:
    known: dict[str, Any] = {
        "domain": "data_engineering",
        "task": "validate records before deduplication",
        "skill_name": "Validate-Before-Dedup",
        "response": "Validate each record, then deduplicate, so corrupt rows are not merged.",
        "steps": ["validate record schema", "run deduplication"],
    }
    brain(learning.learn, known)
    task = "How do I clean up corrupt entries before merging duplicate customer records?"
    found = brain(learning.find_skill, {"task": task, "domain": "crm", "min_score": 0.2})

    assert found["skill_name"] == "Validate-Before-Dedup"
    assert found["semantic_score"] > 0.2
    assert "remove_structures" in found["adaptations"]
    stranger = {"task": "draw a cat", "domain": "art", "min_score": 0.2}
    assert brain(learning.find_skill, stranger)["all_candidates"] == []


def test_feedback_lowers_confidence_and_warns_of_an_unknown_id(brain: Brain) -> None:
    skill = brain(learning.learn, SOLVED)["skill_id"]
    value = brain(learning.feedback, {"skill_id": skill, "success": "false"})

    assert value["confidence"] == "0.612"
    assert cast("Any", brain.records)[0]["success_rate"] == 0.5
    assert brain(learning.feedback, {})["transfer_success"] is False
    assert brain.warning == ""
    assert brain(learning.feedback, {"skill_id": "ghost"})["transfer_success"] is False
    assert "ghost" in brain.warning


def test_advice_for_a_scout(brain: Brain) -> None:
    task = {"task": "answer a ticket", "domain": "support"}
    brain(learning.learn_path, {**task, "path": ["classify", "answer"], "score": 0.8})
    brain(learning.learn_anti, {**task, "what_failed": "escalate at once", "why": "costly"})
    paths = [["classify", "answer"], ["answer"], ["escalate"]]
    boosts = brain(learning.advise, None, question="answer this ticket", paths=paths)

    assert boosts[0] > boosts[1] == 0 > boosts[2]


def test_episodes_of_one_domain_are_bounded_and_aged(brain: Brain) -> None:
    for number in range(learning.PER_DOMAIN_MAX + 20):
        seen = {"domain": "ops", "task": f"deploy {number}"}
        brain(learning.record_episode, seen, at=NOW + number)

    assert len(brain.records) == learning.PER_DOMAIN_MAX
    later = brain(learning.find_episodes, {"domain": "ops", "top_k": 1}, at=NOW + 50 * HOUR_S)
    assert "[2023-11-14, ops] SUCCESS: deploy" in later["response"]
    assert later["episode_count"] == 1
    short = brain(learning.find_episodes, {"domain": "ops", "max_tokens": 20})
    assert len(short["response"]) <= 80
    # Failures can be left out.
    brain(learning.record_episode, {"domain": "web", "task": "deploy", "success": "no"})
    for said, count in (("no", 0), ("yes", 1)):
        asked = {"domain": "web", "include_failures": said}
        assert brain(learning.find_episodes, asked)["episode_count"] == count


def test_the_store_changes_a_skill_in_one_step_and_once(tmp_path: Path) -> None:
    def asked(key: str, change: str, payload: Json) -> Request:
        inputs: dict[str, Json] = {"operation": "amend", "namespace": "brain/skills"}
        inputs |= {"library": "orka", "change": change, "with": {"payload": payload}}
        return Request("run", "one", "memory", inputs, key=key)

    changes = [("a", "learn", SOLVED), ("a", "learn", SOLVED), ("b", "learn", SOLVED)]
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        requests = [asked(*change) for change in (*changes, ("c", "recall", NEXT))]
        learnt, again, other, found = perform(store, *requests)
        [kept] = cast("Any", store.memory("memory/brain/skills"))

    assert again == learnt
    assert other["skill_id"] == found["skill_id"] == learnt["skill_id"] == "a"
    assert (kept["usage_count"], kept["run"]) == (2, "run")
