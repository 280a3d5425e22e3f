"""Every field of the loop, and every form of its conditions."""

from __future__ import annotations

from textwrap import dedent

import pytest
from native_files import fault, read, read_loop

from whorl import ir
from whorl.dialects import read_workflow


def expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source)


def template(source: str) -> ir.Expression:
    return ir.Expression("template", source)


WHEN = ir.When(expression("r == 'ok'"))


@pytest.mark.parametrize(
    ("until", "condition"),
    [
        ("r == 'ok'", WHEN),
        ("{when: r == 'ok'}", WHEN),
        ("[r == 'ok']", WHEN),
        ("[r == 'ok', w == 'x']", ir.AnyOf((WHEN, ir.When(expression("w == 'x'"))))),
        ("{all: [r == 'ok', {stable: 0.9}]}", ir.AllOf((WHEN, ir.Stable(expression("r"), 0.9)))),
        ("{any: [r == 'ok', {all: [r == 'ok']}]}", ir.AnyOf((WHEN, ir.AllOf((WHEN,))))),
        (
            '{score: {from: "{{ r.score }}", at_least: 0.9}}',
            ir.Score(template("{{ r.score }}"), at_least=0.9, low=0.0, high=1.0),
        ),
        ("{score: {from: r.score}}", ir.Score(expression("r.score"))),
        (
            "{score: {pattern: 'S: ([0-9]+)', at_least: 3, low: 0, high: 10}}",
            ir.Score(expression("r"), "S: ([0-9]+)", 3.0, 0.0, 10.0),
        ),
        ("{score: {pattern: '(.)', of: w}}", ir.Score(expression("w"), "(.)")),
        (
            '{score: {pattern: "(.)", from: "{{ w }}!"}}',
            ir.Score(template("{{ w }}!"), "(.)"),
        ),
        ("{judge: Is it good?}", ir.Judge(ir.Constant("Is it good?"), expression("r"))),
        (
            '{judge: {question: "About {{ x }}?", model: a/b, votes: 3, of: w}}',
            ir.Judge(template("About {{ x }}?"), expression("w"), ("a/b",), 3),
        ),
        (
            '{judge: {question: Q, model: [a/b, c/d], of: "{{ w }}-{{ r }}"}}',
            ir.Judge(ir.Constant("Q"), template("{{ w }}-{{ r }}"), ("a/b", "c/d")),
        ),
        ("{stable: 0.95}", ir.Stable(expression("r"), 0.95)),
        ("{stable: {threshold: 0.8, of: w}}", ir.Stable(expression("w"), 0.8)),
        ("{stable: {of: w.text}}", ir.Stable(expression("w.text"), 0.95)),
    ],
)
def test_until(until: str, condition: ir.Condition) -> None:
    assert read_loop(f"until: {until}").until == condition


@pytest.mark.parametrize(
    ("written", "plateau"),
    [("2", ir.Plateau(2)), ("{patience: 3, min_delta: 0.01}", ir.Plateau(3, 0.01))],
)
def test_plateau(written: str, plateau: ir.Plateau) -> None:
    loop = read_loop(f"until: [{{score: {{from: r}}}}, {{plateau: {written}}}]")

    assert loop.until == ir.AnyOf((ir.Score(expression("r")), plateau))


def test_branch_condition() -> None:
    loop = read_loop(
        """
        until: {branch: {triage: done}}
        steps:
          triage: {choose: {on: "'x'", done: {d: {value: 1}}, default: {e: {value: 2}}}}
        """
    )

    assert loop.until == ir.BranchTaken("triage", "done")


@pytest.mark.parametrize(
    ("steps", "subject"),
    [
        ("{w: {ask: Hi}, out: {run: ls}}", expression("out.stdout")),
        ("{w: {ask: Hi}, get: {http: 'https://a'}}", expression("get.body")),
        ("{w: {ask: Hi}, v: {set: {a: 1}}, p: {wait: 1s}}", expression("w")),
        ("{first-draft: {ask: Hi}}", ir.Expression("plain", "{{ first-draft }}")),
        ("{my-run: {run: ls}}", ir.Expression("plain", "{{ my-run.stdout }}")),
    ],
)
def test_conditions_read_the_text_of_the_last_step(steps: str, subject: ir.Value) -> None:
    loop = read_loop(f"until: {{stable: 1}}\nsteps: {steps}")

    assert loop.until == ir.Stable(subject, 1.0)


def test_defaults() -> None:
    loop = read_loop("check: after")

    assert loop.until is None
    assert loop.limits == ir.LoopLimits(iterations=10)
    assert loop.returns == "last"
    assert loop.on_limit == "finish"
    assert loop.facts == ()
    assert loop.history_keep == 0
    assert not loop.body.open


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ("5", ir.LoopLimits(5)),
        (
            "{iterations: 5, time: 10m, each_time: 2m, cost: 0.50, tokens: 100k, calls: 7}",
            ir.LoopLimits(5, 600.0, 120.0, 0.5, 100_000, 7),
        ),
        ("{time: 1h}", ir.LoopLimits(10, 3_600.0)),
        ('"{{ x }}"', ir.LoopLimits(template("{{ x }}"))),
        (
            '{iterations: "{{ x }}", time: "{{ x }}m"}',
            ir.LoopLimits(template("{{ x }}"), template("{{ x }}m")),
        ),
    ],
)
def test_at_most(written: str, limits: ir.LoopLimits) -> None:
    assert read_loop(f"at_most: {written}").limits == limits


@pytest.mark.parametrize(
    ("field", "attribute", "word"),
    [
        ("check", "check", "before"),
        ("on_limit", "on_limit", "fail"),
        ("on_limit", "on_limit", "pause"),
        ("return", "returns", "first"),
        ("return", "returns", "all"),
        ("session", "session", "continue"),
        ("ask_person", "ask", "each"),
        ("ask_person", "ask", "at_limit"),
    ],
)
def test_fields_that_are_words(field: str, attribute: str, word: str) -> None:
    loop = read_loop(f"{field}: {word}")

    assert {"check": loop.check, "on_limit": loop.on_limit, "returns": loop.returns}.get(
        attribute, {"session": loop.session, "ask": loop.ask}.get(attribute)
    ) == word


def test_carry() -> None:
    loop = read_loop(
        """
        carry:
          feedback: "{{ r }}"
          hint: {first: "{{ x }}", then: "{{ w }}"}
          start: {first: 1}
          object: {then: {a: "{{ r }}", first: 2}}
        """
    )

    assert loop.carry == (
        ir.Carry("feedback", None, template("{{ r }}")),
        ir.Carry("hint", template("{{ x }}"), template("{{ w }}")),
        ir.Carry("start", ir.Constant(1), None),
        ir.Carry(
            "object", None, ir.Fields((("a", template("{{ r }}")), ("first", ir.Constant(2))))
        ),
    )


def test_collect() -> None:
    loop = read_loop(
        """
        until: {score: {from: r}}
        collect:
          drafts: {all: "{{ w }}"}
          one: {first: "{{ w }}"}
          top: {best: 1}
          each: "{{ r }}"
        """
    )

    assert loop.collect == (
        ir.Collect("drafts", "all", template("{{ w }}")),
        ir.Collect("one", "first", template("{{ w }}")),
        ir.Collect("top", "best", ir.Constant(1)),
        ir.Collect("each", "all", template("{{ r }}")),
    )


@pytest.mark.parametrize(
    ("written", "failure"),
    [
        ("halt", ir.IterationFailure()),
        ("continue", ir.IterationFailure("continue")),
        ("{retry: 2}", ir.IterationFailure("retry", 2)),
    ],
)
def test_on_failure(written: str, failure: ir.IterationFailure) -> None:
    assert read_loop(f"on_failure: {written}").on_iteration_failure == failure


@pytest.mark.parametrize(
    ("written", "delay"), [("2s", ir.Constant(2.0)), ('"{{ w }}s"', template("{{ w }}s"))]
)
def test_wait(written: str, delay: ir.Value) -> None:
    assert read_loop(f"wait: {written}").delay == delay


def test_memory() -> None:
    own = read_loop('memory: {keep: 5, record: {s: "{{ r }}"}}').memory
    kept = read_loop("memory: {across_runs: true}").memory
    shared = read_loop("memory: {across_runs: true, key: house style}").memory

    assert own == ir.Memory(ir.Fields((("s", template("{{ r }}")),)), keep=5)
    assert kept == ir.Memory(across_runs=True, key="test/l")
    assert shared is not None
    assert shared.key == "house style"


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


def test_the_inner_loop_has_facts_of_its_own() -> None:
    outer = read(
        """
        steps:
          outer:
            repeat:
              steps:
                inner:
                  repeat:
                    carry: {n: {first: "{{ iteration }}", then: 1}}
                    until: best == 1
                    steps: {w: {ask: "{{ previous }}"}}
        """
    ).body.nodes[0]
    assert isinstance(outer, ir.Loop)
    inner = outer.body.nodes[0]
    assert isinstance(inner, ir.Loop)

    assert outer.facts == (("iteration", "number"),)
    assert inner.facts == (("previous", "previous"), ("best", "best"))


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
    found = fault(
        """
        steps:
          polish:
            repeat:
              until: {branch: {triage: {done: 1}, review: done}}
              steps:
                triage: {choose: {on: "1", cases: {done: {a: {value: 1}}}}}
                review: {choose: {on: "1", cases: {done: {b: {value: 1}}}}}
        """
    )

    assert found.code == "W007"
    assert found.message.startswith("'triage' of 'branch' of")
