"""Bounded YAML and JSON with positions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml

from stopwatch import within
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.source import LIMITS, Document, Limits, Sequence, plain
from whorl.source.json import read_json
from whorl.source.report import read_text
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

READERS: dict[str, Callable[..., Document]] = {"yaml": read_yaml, "json": read_json}


def refused(read: Callable[..., Document], text: str, **options: object) -> tuple[Diagnostic, ...]:
    with pytest.raises(InvalidWorkflow) as caught:
        read(text, "f.yaml", **options)
    return caught.value.diagnostics


def place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    assert diagnostic.span is not None
    return diagnostic.code, diagnostic.span.line, diagnostic.span.column


@pytest.fixture(params=[True, False], ids=["libyaml", "python"])
def _both_parsers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not yaml.__with_libyaml__:
        pytest.skip("libyaml is not built in")
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        *(("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("true", True)),
        *(("False", False), ("~", None), ("", None), ("null", None), ("12", 12), ("-7", -7)),
        *(("0o17", 15), ("0x1F", 31), ("017", 17), ("1_000", "1_000"), ("1:30:00", "1:30:00")),
        *(("2024-01-31", "2024-01-31"), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0)),
        *(("1.2.3", "1.2.3"), ("-", None), ("0x", "0x"), ("'12'", "12"), ('"true"', "true")),
        *(("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))),
    ],
)
@pytest.mark.usefixtures("_both_parsers")
def test_yaml_scalars_follow_the_core_schema(written: str, expected: object) -> None:
    text = "a:\n  -\n" if written == "-" else f"a: {written}\n"
    value = plain(read_yaml(text, "f").root)

    assert value == {"a": [None] if written == "-" else expected}
    assert isinstance(value, dict)
    assert written == "-" or type(value["a"]) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected", "part"),
    [
        *(("a: .nan", ("W001", 1, 4), "'.nan'"), ("a: -.inf", ("W001", 1, 4), "'-.inf'")),
        ("a: 1e999", ("W001", 1, 4), "too large"),
        ("a: 9223372036854775808", ("W001", 1, 4), "64 bits"),
        ("a: 0xFFFFFFFFFFFFFFFFFF", ("W001", 1, 4), "64 bits"),
        ("a: !!python/object:os.system x", ("W001", 1, 4), "tags"),
        ("a: !local [1]", ("W001", 1, 4), "tags"),
        ("%TAG ! tag:x,2000:\n---\na: 1", ("W001", 1, 1), "tags"),
        ("a: &a {b: 1}\nc:\n  <<: *a", ("W001", 3, 3), "merge keys"),
        ("a: 1\n---\nb: 2", ("W001", 2, 1), "several YAML documents"),
        ("a:\n  b: *nowhere", ("W001", 2, 6), "no anchor"),
        ("a: &a [1, *a]", ("W001", 1, 11), "itself"),
        ("? [1]\n: 2", ("W001", 1, 3), "keys are texts"),
        ("a: {{ x }}", ("W001", 1, 4), "'{{' needs quotes"),
        *(("a: @x", ("W001", 1, 4), "'@' needs quotes"), ("a: b: c", ("W001", 1, 5), "':'")),
        *(("a:\n\tb: 1", ("W001", 2, 1), "tab"), ('a:\n  "x', ("W001", 2, 3), "not closed")),
        *(("a: [1, 2\n", ("W001", 1, 4), "list"), ("# nothing\n", ("W001", 1, 1), "empty")),
        *(("a: b\n\x07", ("W001", 2, 1), "U+0007"), ("a: b\0", ("W001", 1, 5), "U+0000")),
        ('a: "\\0"', ("W001", 1, 4), "NUL"),
    ],
)
@pytest.mark.usefixtures("_both_parsers")
def test_yaml_mistakes_have_a_place(text: str, expected: object, part: str) -> None:
    (found,) = refused(read_yaml, text)

    assert place(found) == expected
    assert part in found.message


def billion_laughs() -> str:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(rows)


@pytest.mark.usefixtures("_both_parsers")
def test_billion_laughs_is_refused_where_it_explodes() -> None:
    (found,) = refused(read_yaml, billion_laughs())

    assert place(found)[:2] == ("W002", 4)
    assert "aliases" in found.message


def test_aliases_cannot_add_depth() -> None:
    text = "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 30 + "*a" + "]" * 30

    (found,) = refused(read_yaml, text)

    assert place(found) == ("W002", 2, 34)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("opening", ["[", "[ ", "[\n", '{"a":', '[{"a": ['])
def test_deep_nesting_is_refused_fast(reader: str, opening: str) -> None:
    text = opening * (100_000 // len(opening))

    (found,) = within(0.5, lambda: refused(READERS[reader], text), tries=5)

    assert found.code == "W002"


@pytest.mark.parametrize("reader", READERS)
def test_exactly_the_allowed_depth_is_read(reader: str) -> None:
    depth = LIMITS.depth_max
    document = READERS[reader]("[" * depth + "]" * depth, "f")

    assert isinstance(document.root, Sequence)
    (found,) = refused(READERS[reader], "[" * (depth + 1) + "]" * (depth + 1))
    assert place(found) == ("W002", 1, depth + 1)


@pytest.mark.parametrize("reader", READERS)
def test_the_number_of_values_is_limited(reader: str) -> None:
    limits = Limits(values_max=5)

    assert len(READERS[reader]("[1, 2, 3, 4]", "f", limits=limits).text) == 12
    (found,) = refused(READERS[reader], "[1, 2, 3, 4, 5]", limits=limits)
    assert place(found) == ("W002", 1, 14)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["x" * 11, "日" * 4])
def test_the_number_of_bytes_is_limited(reader: str, text: str) -> None:
    (found,) = refused(READERS[reader], f'"{text}"', limits=Limits(bytes_max=12))

    assert found.code == "W002"
    assert "bytes" in found.message


def test_huge_integers_cost_nothing() -> None:
    for read, text in ((read_yaml, "a: " + "9" * 1_900_000), (read_json, "9" * 1_900_000)):
        assert within(1, partial(refused, read, text))[0].code == "W001"


def test_many_tag_directives_are_refused_at_once() -> None:
    text = "a: 1\n...\n" + "".join(f"%TAG !{i}! x\n" for i in range(100_000)) + "---\nb: 1\n"

    assert place(within(1, lambda: refused(read_yaml, text))[0]) == ("W001", 3, 1)


@pytest.mark.parametrize(
    ("text", "expected", "part"),
    [
        *(("", (1, 1), "empty"), ("[,]", (1, 2), "expected a value")),
        ("[1 2]", (1, 4), "expected ',' or ']'"),
        ('{"a": 1 "b": 2}', (1, 9), "expected ',' or '}'"),
        ('{"a" 1}', (1, 6), "expected ':' after key 'a'"),
        ('{"a":', (1, 6), "end of the file"),
        ('{\n  "a": [1,\n', (2, 8), "'[' of line 2 is not closed"),
        ('{"a": 1', (1, 1), "'{' of line 1 is not closed"),
        ("{a: 1}", (1, 2), "key 'a' is not in double quotes"),
        ("{'a': 1}", (1, 2), "key 'a' is not in double quotes"),
        *(("['a']", (1, 2), "not a value"), ('["a\n"]', (1, 2), "not closed")),
        *(('"a', (1, 1), "not closed"), ('"a\x01"', (1, 1), "a control character")),
        *(('"a\\x"', (1, 3), "escape"), ('"\\u12g4"', (1, 2), "escape")),
        *(('"\\u0000"', (1, 1), "NUL"), ("NaN", (1, 1), "'NaN'")),
        *(("[-Infinity]", (1, 2), "'-Infinity'"), ("[True]", (1, 2), "'True'")),
        *(("[01]", (1, 2), "not a number"), ("[1.]", (1, 2), "not a number")),
        *(("[.5]", (1, 2), "not a number"), ("[1e999]", (1, 2), "too large")),
        *(("[9223372036854775808]", (1, 2), "64 bits"), ("[] []", (1, 4), "after the end")),
        *(("[] x", (1, 4), "after the end"), ("[\n /* x", (2, 2), "comment is not closed")),
        *(("[1]]", (1, 4), "after the end"), ("}", (1, 1), "expected a value")),
    ],
)
def test_json_mistakes_have_a_place(text: str, expected: tuple[int, int], part: str) -> None:
    (found,) = refused(read_json, text)

    assert place(found) == ("W001", *expected)
    assert part in found.message


def test_repeated_json_keys_are_errors_warnings_or_kept() -> None:
    text = '{"a": 1,\n "a": 2}'

    (error,) = refused(read_json, text)
    assert place(error) == ("W012", 2, 2)
    warned = read_json(text, "f", repeated="warn")
    assert plain(warned.root) == {"a": 2}
    assert [(w.code, w.severity) for w in warned.warnings] == [("W012", "warning")]
    assert read_json(text, "f", repeated="keep").warnings == ()


def test_surrogates_are_joined_or_replaced() -> None:
    assert plain(read_json('"\\ud83d\\ude00 \\ud800"', "f").root) == "\U0001f600 \ufffd"
    assert plain(read_json('"\ud800"', "f").root) == "\ufffd"
    assert plain(read_yaml("a\ud800", "f").root) == "a\ufffd"


@pytest.mark.parametrize(
    ("content", "expected", "part"),
    [
        (b"a: 1\nb: \xff", ("W001", 2, 4), "0xff"),
        (b"a\0b", ("W001", 1, 2), "NUL"),
        ("a: 1".encode("utf-16"), ("W001", 1, 1), "UTF-16"),
        (b"x" * 2_000_001, ("W002", 1, 1), "2,000,001 bytes"),
    ],
)
def test_bytes_that_are_no_text_are_refused(content: bytes, expected: object, part: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_text(content, "f")

    (found,) = caught.value.diagnostics
    assert place(found) == expected
    assert part in found.message


@pytest.mark.parametrize("read", [read_yaml, read_json])
@pytest.mark.parametrize("text", ["[[], 1, {}, 2, []]", '{"a": [], "b": {}, "c": []}'])
def test_a_list_or_mapping_of_too_many_others_is_refused(
    read: Callable[..., Document], text: str
) -> None:
    """No workflow has so many steps; what single values a list holds is not counted."""
    with pytest.raises(InvalidWorkflow, match="holds more than 2 others") as caught:
        read(text, "a", limits=Limits(parts_max=2))
    assert caught.value.diagnostics[0].code == "W002"
    assert read(text, "a", limits=Limits(parts_max=3)).root
