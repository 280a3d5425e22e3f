"""What a native file can have wrong: the code, the exact place, and what to do."""

from __future__ import annotations

import pytest
from native_files import at, fault, faults

THREE = """\
name: bad
steps:
  polish:
    repeat:
      untill:
        - review.approved
      at_most: {iterations: many}
      steps:
        write:
          ask: "Write {{ tsak }}"
inputs:
  task: string
"""


def test_all_mistakes_are_reported_at_once() -> None:
    found = faults(THREE)

    assert [at(diagnostic) for diagnostic in found] == [
        ("W004", 6, 7),
        ("W007", 8, 29),
        ("W005", 11, 26),
    ]
    assert [diagnostic.help for diagnostic in found][0::2] == [
        "did you mean 'until'?",
        "did you mean 'task'?",
    ]
    assert "iterations" in found[1].message


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("setps: {a: {ask: Hi}}", ("W004", 2, 1), "did you mean 'steps'"),
        ("steps: {a: {ask: Hi, modle: x}}", ("W004", 2, 22), "did you mean 'model'"),
        ("steps: {a: {run: ls, returns: {a: string}}}", ("W004", 2, 22), "'returns'"),
        ("steps: {a: {http: {ulr: 'https://a'}}}", ("W004", 2, 20), "did you mean 'url'"),
        ("steps: {a: {ask: Hi, retry: {time: 2}}}", ("W004", 2, 30), "did you mean 'times'"),
        ("steps: {a: {aks: Hi}}", ("W004", 2, 13), "did you mean 'ask'"),
        ("steps: {a: {ask: Hi}}\ninputs: {x: {tpye: string}}", ("W004", 3, 14), "'type'"),
        (
            "steps: {a: {repeat: {until: {scroe: 1}, steps: {b: {ask: Hi}}}}}",
            ("W004", 2, 30),
            "did you mean 'score'",
        ),
        (
            "steps: {a: {choose: {on: 1 + 1, c: {d: {ask: Hi}}, defualt: {b: {ask: Hi}}}}}",
            ("W004", 2, 52),
            "did you mean 'default'",
        ),
        ("name: x", ("W006", 1, 1), "'steps'"),
        ("steps: {a: {agent: codex}}", ("W006", 2, 9), "'prompt'"),
        ("steps: {a: {http: {method: GET}}}", ("W006", 2, 19), "'url'"),
        ("steps: {a: {then: {b: {ask: Hi}}}}", ("W006", 2, 9), "'if'"),
        ("steps: {a: {each: [1]}}", ("W006", 2, 9), "'steps'"),
        ("steps: {a: {together: true}}", ("W006", 2, 9), "'steps'"),
        ("steps: {a: {repeat: {at_most: 3}}}", ("W006", 2, 21), "'steps'"),
        ("steps: {}", ("W006", 2, 8), "has no steps"),
        (
            "steps: {a: {repeat: {until: {score: {at_least: 1}}, steps: {b: {ask: Hi}}}}}",
            ("W006", 2, 30),
            "pattern:",
        ),
        ("steps: {a: {choose: {cases: {b: {c: {ask: Hi}}}}}}", ("W006", 2, 30), "when"),
        ("steps: {a: 5}", ("W007", 2, 12), "an object"),
        ("steps: [a]", ("W007", 2, 8), "steps by name"),
        ("steps: {a: {ask: 5}}", ("W007", 2, 18), "a text"),
        ("steps: {a: {ask: Hi, temperature: hot}}", ("W007", 2, 35), "number"),
        ("steps: {a: {ask: Hi, max_tokens: 0}}", ("W007", 2, 34), "at least 1|from 1"),
        ("steps: {a: {ask: Hi, timeout: soon}}", ("W007", 2, 31), "250ms"),
        ("steps: {a: {ask: Hi, on_failure: stop}}", ("W007", 2, 34), "halt, continue"),
        ("steps: {a: {ask: Hi, retry: often}}", ("W007", 2, 29), "whole number"),
        ("steps: {a: {ask: Hi, returns: {ok: bool}}}", ("W007", 2, 36), "did you mean|type"),
        ("steps: {a: {wait: tomorrow}}", ("W007", 2, 19), "duration"),
        ("steps: {a: {ask: Hi}}\nwhorl2: 1", ("W004", 3, 1), "'whorl'"),
        ("steps: {a: {ask: Hi}}\nbudget: lots", ("W007", 3, 9), "number"),
        ("steps: {a: {ask: Hi}}\ninputs: {x: text}", ("W007", 3, 13), "string"),
        (
            "steps: {a: {ask: Hi}}\ninputs: {x: {type: number, default: a}}",
            ("W007", 3, 37),
            "number",
        ),
        (
            "steps: {a: {repeat: {on_limit: stop, steps: {b: {ask: Hi}}}}}",
            ("W007", 2, 32),
            "finish, fail, pause",
        ),
        (
            "steps: {a: {repeat: {until: {judge: x, stable: 1}, steps: {b: {ask: Hi}}}}}",
            ("W007", 2, 40),
            "one of them",
        ),
        (
            "steps: {a: {repeat: {collect: {c: {some: 1}}, steps: {b: {ask: Hi}}}}}",
            ("W007", 2, 35),
            "{all: ...}",
        ),
        ("steps: {a: {if: true}}", ("W009", 2, 9), "does not say what it does"),
        ("steps: {a: {ask: Hi, run: ls}}", ("W009", 2, 22), "both 'ask' and 'run'"),
        ("steps: {a: {ask: Hi}, b: {ask: Hi, after: aa}}", ("W010", 2, 43), "did you mean 'a'|a"),
        ("steps: {a: {ask: Hi, after: b}}", ("W010", 2, 29), "not in the same block"),
        ("steps: {a: {break: true}}", ("W010", 2, 9), "not inside a loop"),
        (
            "steps: {lop: {repeat: {steps: {a: {ask: Hi}, b: {break: loop}}}}}",
            ("W010", 2, 46),
            "did you mean 'lop'",
        ),
        (
            "steps: {l: {repeat: {until: {branch: {tirage: x}}, steps: {triage: {if: true, then:"
            " {b: {ask: Hi}}}}}}}",
            ("W010", 2, 39),
            "did you mean 'triage'",
        ),
        (
            "steps: {l: {repeat: {until: {branch: {t: the}}, steps: {t: {if: true, then:"
            " {b: {ask: Hi}}}}}}}",
            ("W010", 2, 39),
            "then",
        ),
        (
            "steps: {l: {repeat: {until: {stable: {of: wirte}}, steps: {write: {ask: Hi}}}}}",
            ("W010", 2, 43),
            "did you mean 'write'",
        ),
        ("steps: {a: {ask: Hi, after: b}, b: {ask: Hi}}", ("W011", 2, 9), "a -> b"),
        ("steps: {1a: {ask: Hi}}", ("W012", 2, 9), "begins with a letter"),
        ("steps: {iteration: {ask: Hi}}", ("W012", 2, 9), "reserved|meaning"),
        ("steps: {a: {ask: Hi}}\ninputs: {a-b: string}", ("W012", 3, 10), "'_'"),
        ("steps: {a: {ask: Hi}}\ninputs: {a: string}", ("W012", 3, 10), "a step"),
        ("steps: {a: {set: {x: 1}}}\ninputs: {x: string}", ("W012", 3, 10), "a variable"),
        ("steps: {a: {set: {b: 1}}, b: {ask: Hi}}", ("W012", 2, 27), "variable"),
        (
            "steps: {a: {if: true, then: {c: {ask: Hi}}, else: {c: {ask: Hi}}}}",
            ("W012", 2, 52),
            "two steps are called 'c'",
        ),
        (
            "steps: {l: {repeat: {carry: {b: 1}, steps: {b: {ask: Hi}}}}}",
            ("W012", 2, 30),
            "also the name of a step",
        ),
        ("steps: {l: {repeat: {return: best, steps: {b: {ask: Hi}}}}}", ("W013", 2, 30), "score"),
        (
            "steps: {l: {repeat: {until: {plateau: 2}, steps: {b: {ask: Hi}}}}}",
            ("W013", 2, 30),
            "score",
        ),
        (
            "steps: {l: {repeat: {collect: {c: {best: 1}}, steps: {b: {ask: Hi}}}}}",
            ("W013", 2, 31),
            "score",
        ),
        (
            "steps: {l: {repeat: {until: {score: {pattern: '[0-9]+'}}, steps: {b: {ask: Hi}}}}}",
            ("W014", 2, 47),
            "parentheses",
        ),
        (
            "steps: {l: {repeat: {until: {score: {pattern: 'x(?=y)'}}, steps: {b: {ask: Hi}}}}}",
            ("W014", 2, 49),
            "look-ahead",
        ),
        (
            "steps: {l: {repeat: {at_most: 0, steps: {b: {ask: Hi}}}}}",
            ("W015", 2, 31),
            "from 1 to 100,000",
        ),
        (
            "steps: {l: {repeat: {at_most: {iterations: 100001}, steps: {b: {ask: Hi}}}}}",
            ("W015", 2, 44),
            "from 1 to 100,000",
        ),
        (
            "steps: {l: {repeat: {at_most: {time: 0s}, steps: {b: {ask: Hi}}}}}",
            ("W015", 2, 22),
            "time limit",
        ),
        (
            "steps: {l: {repeat: {at_most: 1001, steps: {b: {ask: Hi}}}}}",
            ("W019", 2, 22),
            "1,001 priced calls",
        ),
        ("steps: {a: {ask: '{{ 1 +  }}'}}", ("W008", 2, 27), ""),
        ("steps: {a: {value: 1, if: '1 ='}}", ("W008", 2, 30), ""),
        ("steps: {a: {ask: \"{{ 'x' | uper }}\"}}", ("W020", 2, 28), "did you mean 'upper'"),
        ("steps: {a: {run: 'echo {{ x }} # {{ x }}'}}\ninputs: {x: string}", ("W021", 2, 34), ""),
    ],
)
def test_each_mistake_has_its_code_place_and_advice(
    text: str, place: tuple[str, int, int], words: str
) -> None:
    import re

    found = fault(text)

    assert at(found) == place
    assert re.search(words, f"{found.message} {found.help}"), found


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('steps: {a: {ask: "{{ b }}"}, b: {ask: Hi}}', ("W005", 2, 22), "not known yet"),
        (
            'steps: {g: {together: {a: {ask: Hi}, b: {ask: "{{ a }}"}}}}',
            ("W005", 2, 51),
            "after: a",
        ),
        ('steps: {a: {ask: "{{ iteration }}"}}', ("W005", 2, 22), "unknown name 'iteration'"),
        ('steps: {a: {ask: "{{ x | default(1) }}"}}', ("W005", 2, 22), "unknown name 'x'"),
        ('steps: {a: {ask: "{% if x is defined %}1{% endif %}"}}', ("W005", 2, 25), "'x'"),
        (
            'steps: {r: {ask: Hi, returns: {approved: boolean}}, b: {ask: "{{ r.aproved }}"}}',
            ("W005", 2, 68),
            "did you mean 'approved'",
        ),
        (
            'steps: {r: {run: ls}, b: {ask: "{{ r.stdot }}"}}',
            ("W005", 2, 38),
            "did you mean 'stdout'",
        ),
        (
            'steps: {l: {repeat: {steps: {write: {ask: Hi}}}}, b: {ask: "{{ l.wirte }}"}}',
            ("W005", 2, 66),
            "did you mean 'write'",
        ),
        (
            'steps: {l: {repeat: {steps: {write: {ask: Hi}}}}, b: {ask: "{{ write }}"}}',
            ("W005", 2, 64),
            "unknown name 'write'",
        ),
        (
            "steps: {l: {repeat: {until: previous.wirte, steps: {write: {ask: Hi}}}}}",
            ("W005", 2, 38),
            "did you mean 'write'",
        ),
        (
            'steps: {l: {repeat: {carry: {c: {first: "{{ w }}"}}, steps: {w: {ask: Hi}}}}}',
            ("W005", 2, 45),
            "unknown name 'w'",
        ),
        (
            "steps: {e: {each: [1], as: one, steps: {a: {ask: '{{ item }}'}}}}",
            ("W005", 2, 54),
            "unknown name 'item'",
        ),
        ('steps: {a: {ask: Hi}}\noutputs: {t: "{{ aa }}"}', ("W005", 3, 18), "did you mean|a"),
        ("steps: {a: {run: 'echo {{ xx }}'}}\ninputs: {x1: string}", ("W005", 2, 27), "'xx'"),
        (
            "steps: {my-draft: {ask: Hi}, c: {ask: \"{{ results['my-drat'] }}\"}}",
            ("W005", 2, 52),
            "did you mean 'my-draft'",
        ),
    ],
)
def test_names_are_known_where_they_are_used(
    text: str, place: tuple[str, int, int], words: str
) -> None:
    import re

    found = fault(text)

    assert at(found) == place
    assert re.search(words, f"{found.message} {found.help}"), found


def test_a_name_with_a_dash_is_explained() -> None:
    found = faults('steps: {first-draft: {ask: Hi}, b: {ask: "{{ first-draft }}"}}')

    assert "results['first-draft']" in found[0].help


def test_names_inside_of_a_block_text_have_their_own_line() -> None:
    found = fault(
        """\
        steps:
          a:
            ask: |
              first line
              second {{ nmae }}
        inputs: {name: string}
        """
    )

    assert at(found) == ("W005", 6, 17)
    assert found.span is not None
    assert found.span.length == 4


def test_an_unknown_field_does_not_hide_mistakes_below_it() -> None:
    found = faults(
        """\
        steps:
          l:
            repeat:
              untill: x
              steps:
                i:
                  if: nope1
                  then: {a: {ask: "{{ nope2 }}", modle: x}}
                e: {each: nope3, steps: {b: {ask: "{{ nope4 }}"}}}
        """
    )

    assert sorted(at(diagnostic)[:2] for diagnostic in found) == [
        ("W004", 5),
        ("W004", 9),
        ("W005", 8),
        ("W005", 9),
        ("W005", 10),
        ("W005", 10),
    ]


def test_a_wrong_step_is_still_a_name_for_others() -> None:
    found = faults('steps: {a: {aks: Hi}, b: {ask: "{{ a }}"}}')

    assert [diagnostic.code for diagnostic in found] == ["W004"]


def test_a_budget_allows_many_calls() -> None:
    from native_files import read

    steps = "steps: {l: {repeat: {at_most: 5000, steps: {b: {ask: Hi}}}}}"
    limited = "steps: {l: {repeat: {at_most: {iterations: 5000, cost: 1}, steps: {b: {ask: Hi}}}}}"

    assert read(f"budget: 5\n{steps}").limits.cost_usd == 5.0
    assert read(limited).limits.cost_usd is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("steps: {l: {repeat: {check: befor, steps: {w: {ask: Hi}}}}}", "before"),
        ("steps: {l: {repeat: {return: bset, steps: {w: {ask: Hi}}}}}", "best"),
        ("steps: {w: {ask: Hi, on_failure: contineu}}", "continue"),
        ("inputs: {a: strin}\nsteps: {w: {ask: Hi}}", "string"),
    ],
)
def test_the_nearest_word_is_named(text: str, meant: str) -> None:
    assert f"did you mean '{meant}'" in (fault(text).help or "")
