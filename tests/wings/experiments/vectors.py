"""Rules and what they would have done, which Python and the page must answer alike.

python -m experiments.vectors        from the folder of the tests: writes them anew
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.programs import (
    EVERYTHING,
    Answers,
    draw_rule,
    draw_shape,
    drawn,
    loop_in,
    program,
    run,
)
from whorl.wings.experiments.what_if.evaluate import answer, own_rule, rule_words
from whorl.wings.experiments.what_if.loop_facts import Subject, atoms_in, facts_of
from whorl.wings.experiments.what_if.query import atom_names, facts_document, rule_document
from whorl.wings.experiments.what_if.sweep import results_of

FILE = Path(__file__).parents[3] / "web" / "test" / "vectors" / "what-if.json"
PROGRAMS, RULES, RUNS = 24, 8, 2


def made() -> list[dict[str, Any]]:
    """Random programs: the facts of their runs, and random rules with the answers to them."""
    return [_vector(seed) for seed in range(PROGRAMS)]


def _vector(seed: int) -> dict[str, Any]:
    shape = draw_shape(drawn("program", seed))
    file = program(shape, {"until": EVERYTHING, "at_most": 4, "return": "last"})
    loop = loop_in(file)
    # Some of what is recorded ends too early for some of the rules.
    explored: dict[str, Any] = {"explore": {"polish": 9}} if seed % 3 else {}
    subjects = []
    for number in range(RUNS):
        runtime, name = run(file, Answers((seed, number), shape.failing), **explored)
        facts = facts_of(runtime.journal, name, atoms_in([loop.until]))[0]
        draw = drawn("grades", seed, number)
        grades = {row.number: round(draw.random(), 3) for row in facts.iterations}
        facts.run = f"r{number}"
        # Some experiments grade a run that fails with 0, others leave it out.
        failed = 0.0 if seed % 2 else None
        subjects.append(Subject(facts, grades, f"case {number}", failed_grade=failed))
    rules = [_rule(shape, draw_rule(drawn("rule", seed, number))) for number in range(RULES)]
    names = atom_names(loop)
    asked = []
    for rule, found in zip(rules, results_of(loop, rules, subjects), strict=True):
        answers = [answer(subject.facts, loop, rule) for subject in subjects]
        asked.append(
            {
                "rule": rule_document(rule, names),
                "words": rule_words(rule),
                "answers": [_told(each) for each in answers],
                "grade": None if found.unknown else round(found.grade, 9),
                "cost_usd": None if found.unknown else round(found.cost_usd, 9),
                "unknown": found.unknown,
                "why": found.why,
            }
        )
    return {"facts": facts_document(loop, subjects, 0.02), "asked": asked}


def _rule(shape: Any, words: dict[str, Any]) -> Any:
    words["at_most"] = words["at_most"]["iterations"]
    return own_rule(loop_in(program(shape, words)))


def _told(found: Any) -> dict[str, Any]:
    if not found.exact:
        return {"why": found.why}
    cost = round(found.usage.get("cost_usd", 0.0), 9)
    made = {"iterations": found.iterations, "returned": found.returned, "cost_usd": cost}
    return made | {"exit_reason": found.exit_reason, "stopped_by": found.stopped_by}


def text() -> str:
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in made())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
