"""Hostile texts: odd ones change exactly or not at all, and none breaks an operation."""

from __future__ import annotations

from random import Random

import pytest
from drawn import apply_to, change, editor, refusal_of

from campaign import SEED, amount
from whorl.errors import EditRefused, InvalidWorkflow
from whorl.source.editing.text import apply

ODD = {
    "mark": "\ufeffwhorl: 1\nsteps:\n  a: {ask: x}\n",
    "crlf": "whorl: 1\r\n\r\nsteps:\r\n  a:\r\n    ask: |\r\n      x\r\n\r\n      y\r\n",
    "no end": "whorl: 1\nsteps:\n  a:\n    ask: |\n      x",
    "anchors": "whorl: 1\nx: &x {ask: y}\nsteps:\n  a: *x\n  b: &b\n    ask: z\n  c: *b\n",
    "long keys": "whorl: 1\nsteps:\n  ? a\n  : ask: x\n  b: {ask: y}\n",
    "kept lines": "a: |+\n  x\n\n\nb: >-\n  y\n  z\n\nc:\n  - |+\n    q\n\n  - r\n",
    "remarks": (
        "# one\na: # two\n  # three\n  - b # four\n  # five\n\n  # six\n  - c: 1 # seven\n"
        "    # eight\n    d: 2\n# nine\n"
    ),
    "one line": "{a: [1, 2, {b: c}], d: {}, e: [], f: 'g', \"h\": i}\n",
    "compact": "- - a\n  - b: 1\n    c: 2\n- d:\n  - e\n  -\n  - f:\n- g\n",
    "tabs": "a:\tb\nc: [\t1,\n\t2 ]\n",
    "repeated": "a: 1\nb: 2\na: 3\n",
    "words": "yes: no\n'true': on\n~: null\n1: 2\n",
    "documents": "---\na: 1\nb:\n  c: 2\n...\n",
    "folded": "a: 'x\n\n  y'\nb: \"z \\\n  q\\u00e9\"\nc: plain\n  more\n  text\n",
}
JSON = {
    "remarks": '{\n  // one\n  "a": [1, // two\n    2 /* three */, 3],\n  "b": {"c": 1,},\n}\n',
    "one line": '{"a":[1,{"b":"\\u00e9\\n"}],"c":{},"d":[]}',
    "odd": '\n\n [ {"a" : 1 , "b":[ ] } ,\n\t2, "\\ud83d\\ude00"]\n\n',
}


TEXTS = {name: (text, "a.yaml") for name, text in ODD.items()}
TEXTS |= {f"json {name}": (text, "a.json") for name, text in JSON.items()}


@pytest.mark.parametrize("name", TEXTS)
def test_odd_texts_change_exactly_or_not_at_all(name: str) -> None:
    (text, file), made = TEXTS[name], 0
    for seed in range(amount(60, 1_000)):
        edited = editor(text, file)
        try:
            change(edited, Random(seed))
        except EditRefused:
            continue
        made += edited.text != text
        assert apply(text, edited.patches()) == edited.text

    assert made > 5


WORDS = ["whorl: 1", "steps:", "a", ": ", "\n", "  ", "- ", "{", "}", "[", "]", "'", '"', "|", "&x",
         "*x", "#", "ask", "nodes", "edges", "id", ",", "\t", "\r\n", "é", "😀", "{{ a }}", "\0",
         "!", "?", "0", "true"]  # fmt: skip
OPERATIONS = [
    {"operation": "set", "at": "", "field": ["name"], "value": "x"},
    {"operation": "rename", "at": "a", "name": "b"},
    {"operation": "add", "into": "", "kind": "ask"},
    {"operation": "wrap", "at": "a", "kind": "repeat"},
]


@pytest.mark.campaign
def test_no_text_breaks_an_operation() -> None:
    rng = Random(SEED)
    for _ in range(amount(150, 5_000)):
        text = "".join(rng.choices(WORDS, k=rng.randint(1, 40)))
        text = text if rng.random() < 0.5 else f"whorl: 1\nsteps:\n  a: {text}\n"
        file = rng.choice(["a.yaml", "a.json"])
        try:
            edited = apply_to(text, rng.choice(OPERATIONS), file=file)
        except (EditRefused, InvalidWorkflow):
            continue
        assert apply(text, edited.patches) == edited.text


def test_a_large_file_is_refused_at_once() -> None:
    steps = "".join(f"  s{number}: {{ask: x, model: y}}\n" for number in range(9_000))

    why = refusal_of(lambda: apply_to(f"whorl: 1\nsteps:\n{steps}"))
    assert why.code == "W002"
