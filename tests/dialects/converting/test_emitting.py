"""Files that people would have written: and whatever is written reads back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.dialects.native.writing import emit_yaml
from whorl.source import plain
from whorl.source.yaml import read_yaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=30)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9), TEXTS
)
KEYS = st.text(st.sampled_from("abc on1:#{}[]-?.é"), min_size=1, max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
def test_whatever_is_emitted_is_read_as_it_was(value: dict[str, object]) -> None:
    assert plain(read_yaml(emit_yaml(value), "a.yaml").root) == _plain(value)


def _plain(value: object) -> object:
    """What a reader gives: line ends are those of YAML."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def test_keys_keep_their_order() -> None:
    written = emit_yaml({"on": "review", "1": "one", "no": "yes", "a-b": 2.5})

    assert written == 'on: review\n"1": one\n"no": "yes"\na-b: 2.5\n'


def test_texts_of_several_lines_are_blocks() -> None:
    assert emit_yaml({"ask": "Write.\nThen stop.\n"}) == "ask: |\n  Write.\n  Then stop.\n"
    assert emit_yaml({"ask": "Write.\nThen stop."}) == "ask: |-\n  Write.\n  Then stop.\n"


def test_templates_stand_in_double_quotes() -> None:
    assert emit_yaml({"a": "{{ b }}", "c": "d: e"}) == 'a: "{{ b }}"\nc: "d: e"\n'


def test_short_objects_stand_on_one_line() -> None:
    assert emit_yaml({"a": {"b": 1, "c": [2, "x"]}}) == "a: {b: 1, c: [2, x]}\n"
    assert emit_yaml({"a": {"b": "x" * 90}}) == f"a:\n  b: {'x' * 90}\n"


def test_texts_that_look_like_other_values_are_quoted() -> None:
    values = {"a": "1", "b": "true", "c": "null", "d": "1.5", "e": "", "f": "0x1F"}

    assert plain(read_yaml(emit_yaml(values), "a.yaml").root) == values
