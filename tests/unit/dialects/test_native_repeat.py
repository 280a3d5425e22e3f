"""Every field of the loop, and every form of its conditions."""

from __future__ import annotations

from textwrap import dedent

import pytest
from native_files import expression, fault, read_loop, template

from whorl import ir
from whorl.dialects import read_workflow

# Steps of a loop, and what conditions read of the last one: its text.
LAST_STEPS = {
    "{w: {ask: Hi}, out: {run: ls}}": expression("out.stdout"),
    "{w: {ask: Hi}, get: {http: 'https://a'}}": expression("get.body"),
    "{w: {ask: Hi}, v: {set: {a: 1}}, p: {wait: 1s}}": expression("w"),
    "{first-draft: {ask: Hi}}": ir.Expression("plain", "{{ first-draft }}"),
    "{my-run: {run: ls}}": ir.Expression("plain", "{{ my-run.stdout }}"),
}


@pytest.mark.parametrize(
    ("until", "condition"),
    [
        ("[r == 'ok']", ir.When(expression("r == 'ok'"))),
        ('{score: {pattern: "(.)", from: "{{ w }}!"}}', ir.Score(template("{{ w }}!"), "(.)")),
        (
            '{judge: {question: "About {{ x }}?", model: a/b, votes: 3, of: w}}',
            ir.Judge(template("About {{ x }}?"), expression("w"), ("a/b",), 3),
        ),
        (
            '{judge: {question: Q, model: [a/b, c/d], of: "{{ w }}-{{ r }}"}}',
            ir.Judge(ir.Constant("Q"), template("{{ w }}-{{ r }}"), ("a/b", "c/d")),
        ),
        ("{stable: {of: w.text}}", ir.Stable(expression("w.text"), 0.95)),
        *(
            (f"{{stable: 1}}\nsteps: {steps}", ir.Stable(subject, 1.0))
            for steps, subject in LAST_STEPS.items()
        ),
    ],
)
def test_until(until: str, condition: ir.Condition) -> None:
    assert read_loop(f"until: {until}").until == condition


FIELDS: list[tuple[str, str, object]] = [
    (
        'at_most: {iterations: "{{ x }}", time: "{{ x }}m"}',
        "limits",
        ir.LoopLimits(template("{{ x }}"), template("{{ x }}m")),
    ),
    (
        'carry: {a: {first: 1}, b: {then: {c: "{{ r }}", first: 2}}}',
        "carry",
        (
            ir.Carry("a", ir.Constant(1), None),
            ir.Carry("b", None, ir.Fields((("c", template("{{ r }}")), ("first", ir.Constant(2))))),
        ),
    ),
    ("memory: {across_runs: true}", "memory", ir.Memory(across_runs=True, key="test/l")),
    ("memory: {across_runs: true, key: house}", "memory", ir.Memory(across_runs=True, key="house")),
]


@pytest.mark.parametrize(("written", "attribute", "expected"), FIELDS)
def test_fields(written: str, attribute: str, expected: object) -> None:
    assert getattr(read_loop(written), attribute) == expected


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ("until: iteration > 3", (("iteration", "number"),)),
        ('carry: {a: "{{ previous.w }}"}', (("previous", "previous"),)),
        ('collect: {a: {all: "{{ best }}"}}', (("best", "best"),)),
        ('memory: {record: {a: "{{ person }}"}}', (("person", "person"),)),
        (
            'steps: {w: {ask: "{{ past }} {{ history }}"}}',
            (("history", "history"), ("past", "past")),
        ),
        ('steps: {i: {if: "iteration > 1", then: {w: {ask: Hi}}}}', (("iteration", "number"),)),
        ('steps: {w: {ask: "{% set iteration = 1 %}{{ iteration }}"}}', ()),
    ],
)
def test_facts_are_bound_where_they_are_mentioned(
    fields: str, facts: tuple[tuple[str, str], ...]
) -> None:
    loop = read_loop(fields)

    assert loop.facts == facts
    assert loop.history_keep == (50 if "history" in dict(facts) else 0)


@pytest.mark.parametrize(
    ("judge", "is_warned"),
    [
        ('"The draft is good: {{ w }}"', True),
        ('{question: "Is this good? {{ w | upper }}", of: w}', True),
        ('"The draft is about {{ topic }}"', False),
        ("The draft is good", False),
    ],
)
def test_a_question_with_the_words_of_a_step_is_warned_of(judge: str, is_warned: bool) -> None:
    text = f"""
        whorl: 1
        inputs: {{topic: string}}
        steps:
          turn:
            repeat:
              until: {{judge: {judge}}}
              at_most: 3
              steps: {{w: {{ask: "Write about {{{{ topic }}}}"}}}}
    """
    warnings = [one for one in read_workflow(dedent(text), "w.yaml").warnings if one.code == "W023"]

    assert bool(warnings) is is_warned


def test_a_branch_whose_case_is_no_name_is_reported() -> None:
    choose = 'choose: {on: "1", cases: {done: {STEP: {value: 1}}}}'
    steps = (
        f"{{triage: {{{choose.replace('STEP', 'a')}}}, review: {{{choose.replace('STEP', 'b')}}}}}"
    )
    until = "{branch: {triage: {done: 1}, review: done}}"
    found = fault(f"steps: {{polish: {{repeat: {{until: {until}, steps: {steps}}}}}}}")

    assert found.code == "W007"
    assert found.message.startswith("'triage' of 'branch' of")
