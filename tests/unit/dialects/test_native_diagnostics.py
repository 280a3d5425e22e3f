"""What a native file can have wrong: the code, the exact place, and what to do."""

from __future__ import annotations

import re

import pytest
from native_files import at, fault

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow

# In the loop of `steps: {l: {repeat: {...}}}`, which has a step `b`, if no others.
IN_A_LOOP = [
    ("until: {scroe: 1}", "W004", 30, "did you mean 'score'"),
    ("collect: {c: {best: 1}}", "W013", 31, "score"),
    ("at_most: 1001", "W019", 22, "1,001 priced calls"),
    (
        "until: {branch: {tirage: x}}, steps: {triage: {if: true, then: {b: {ask: Hi}}}}",
        "W005",
        39,
        "did you mean 'triage'",
    ),
    ('carry: {c: {first: "{{ w }}"}}, steps: {w: {ask: Hi}}', "W005", 45, "unknown name 'w'"),
]
# In `steps: {...}`.
IN_STEPS = [
    ("a: {run: ls, returns: {a: string}}", "W004", 22, "'returns'"),
    # A wrong step is still a name for others.
    ('a: {aks: Hi}, b: {ask: "{{ a }}"}', "W004", 13, "did you mean 'ask'"),
    *(("a: {then: {b: {ask: Hi}}}", "W006", 9, "'if'"), ("a: {each: [1]}", "W006", 9, "'steps'")),
    ("a: {together: true}", "W007", 23, "steps by name"),
    ("a: {choose: {cases: {b: {c: {ask: Hi}}}}}", "W006", 30, "when"),
    *(("a: 5", "W007", 12, "an object"), ("a: {ask: 5}", "W007", 18, "a text")),
    ("a: {ask: Hi, max_tokens: 0}", "W007", 34, "at least 1|from 1"),
    ("a: {ask: Hi, timeout: soon}", "W007", 31, "250ms"),
    ("a: {ask: Hi, on_failure: contineu}", "W007", 34, "did you mean 'continue'"),
    ("a: {ask: Hi}, b: {ask: Hi, after: aa}", "W005", 43, "did you mean 'a'|a"),
    ("lop: {repeat: {steps: {a: {ask: Hi}, b: {break: loop}}}}", "W005", 46, "did you mean 'lop'"),
    ("1a: {ask: Hi}", "W012", 9, "begins with a letter"),
    ("a: {ask: \"{{ 'x' | uper }}\"}", "W005", 28, "did you mean 'upper'"),
    ('g: {together: {a: {ask: Hi}, b: {ask: "{{ a }}"}}}', "W005", 51, "after: a"),
    ('a: {ask: "{{ x | default(1) }}"}', "W005", 22, "unknown name 'x'"),
    ('a: {ask: "{% if x is defined %}1{% endif %}"}', "W005", 25, "'x'"),
    (
        'l: {repeat: {steps: {write: {ask: Hi}}}}, b: {ask: "{{ write }}"}',
        "W005",
        64,
        "unknown name 'write'",
    ),
    ("e: {each: [1], as: one, steps: {a: {ask: '{{ item }}'}}}", "W005", 54, "unknown name 'item'"),
    (
        "my-draft: {ask: Hi}, c: {ask: \"{{ results['my-drat'] }}\"}",
        "W005",
        52,
        "did you mean 'my-draft'",
    ),
]
IN_A_FILE = [
    ("steps: {a: {ask: Hi}}\ninputs: {x: {tpye: string}}", ("W004", 3, 14), "'type'"),
    ("steps: {}", ("W006", 2, 8), "has no steps"),
    ("steps: {a: {ask: Hi}}\nwhorl2: 1", ("W004", 3, 1), "'whorl'"),
    ("steps: {a: {ask: Hi}}\ninputs: {x: strin}", ("W007", 3, 13), "did you mean 'string'"),
    ("steps: {a: {set: {x: 1}}}\ninputs: {x: string}", ("W012", 3, 10), "a variable"),
    ("steps: {a: {run: 'echo {{ x }} # {{ x }}'}}\ninputs: {x: string}", ("W021", 2, 34), ""),
    ('steps: {a: {ask: Hi}}\noutputs: {t: "{{ aa }}"}', ("W005", 3, 18), "did you mean|a"),
    ("steps: {a: {run: 'echo {{ xx }}'}}\ninputs: {x1: string}", ("W005", 2, 27), "'xx'"),
    ("steps:\n  a:\n    ask: |\n      one\n      two {{ nmae }}", ("W005", 6, 14), "'nmae'"),
]


def _loop(fields: str) -> str:
    steps = "" if "steps:" in fields else ", steps: {b: {ask: Hi}}"
    return f"steps: {{l: {{repeat: {{{fields}{steps}}}}}}}"


MISTAKES = [
    *((_loop(text), (code, 2, column), words) for text, code, column, words in IN_A_LOOP),
    *((f"steps: {{{text}}}", (code, 2, column), words) for text, code, column, words in IN_STEPS),
    *IN_A_FILE,
]


@pytest.mark.parametrize(("text", "place", "words"), MISTAKES)
def test_each_mistake_has_its_code_place_and_advice(
    text: str, place: tuple[str, int, int], words: str
) -> None:
    found = fault(text)

    assert at(found) == place
    assert re.search(words, f"{found.message} {found.help}"), found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps: {a: {ask: Hi}}", "add `whorl: 1`"),
        ("worl: 1\nsteps: {}", "did you mean 'whorl'"),
        ("just text", "begins with `whorl: 1`"),
    ],
)
def test_an_unknown_file_names_the_first_line_of_a_native_one(text: str, words: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(text, "a.yaml")

    found = caught.value.diagnostics[0]
    assert found.code == "W018"
    assert words in f"{found.message}; {found.help}"
