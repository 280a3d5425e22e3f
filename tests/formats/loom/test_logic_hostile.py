"""Expressions made to take time or memory: each is answered or refused, quickly and in little."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest

from stopwatch import within
from whorl.language import Expression, Json, LanguageError, MappingScope, evaluate

LONG = 900_000


def _laughs() -> str:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    return f'<!DOCTYPE a [<!ENTITY e0 "ha">{entities}]><a>&e8;</a>'


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


SCOPE = MappingScope(
    {
        "$variables": {
            "long": "a" * LONG,
            "needle": "b" + "a" * (LONG // 2),
            "digits": "1" * 190 + "x",
            "big": list(range(99_000)),
            "wide": {f"Key{n}": n for n in range(90_000)},
            "deep": _nested(500),
            "shared": [[["x" * 1_000] * 100] * 100] * 10,
            "laughs": _laughs(),
            "open": "<a>" * 50_000,
            "sibling": "<r>" + "<a/>" * 90_000 + "</r>",
            "attributes": "<r " + " ".join(f'a{n}="1"' for n in range(60_000)) + "/>",
            "brackets": "[" * 100_000,
            "picture": "0" * LONG,
            "noughts": "9" * LONG,
            "half": "a" * (LONG // 2),
            "dots": "." * LONG,
            "nulls": [None] * 100,
            "spaced": "<r><b>" + "x " * 150_000 + "</b>" + "<a/>" * 50 + "</r>",
            "blank": "<r>" + ("<a>" + " " * 9_000 + "</a>") * 60 + "</r>",
        },
        "$seed": "s",
        "$now": 0,
    }
)

HOSTILE = (
    "@replace(variables('long'), 'a', variables('long'))",
    *("@concat(variables('long'), variables('long'))", "@{variables('long')}@{variables('long')}"),
    "@join(variables('big'), variables('long'))",
    "@join(createArray(variables('long'), variables('long')), ',')",
    *("@split(variables('long'), 'a')", "@chunk(variables('long'), 1)", "@range(0, 100001)"),
    "@range(9223372036854775807, 10)",
    "@lastIndexOf(variables('long'), variables('needle'))",
    "@indexOf(variables('long'), variables('needle'))",
    "@contains(variables('long'), variables('needle'))",
    "@nthIndexOf(variables('long'), 'a', 900000)",
    "@nthIndexOf(variables('long'), 'a', -900000)",
    "@nthIndexOf(variables('long'), variables('needle'), -5)",
    "@nthIndexOf(variables('long'), variables('half'), 10000)",
    "@nthIndexOf(variables('long'), variables('half'), -10000)",
    "@sort(variables('nulls'), variables('dots'))",
    "@xpath(xml(variables('spaced')), '//a["
    + "normalize-space(" * 29
    + "string(/r/b)"
    + ")" * 29
    + "]')",
    "@xpath(xml(variables('spaced')), '//a["
    + "translate(" * 14
    + "string(/r/b)"
    + ", /r/b, 1)" * 14
    + "]')",
    "@xpath(xml(variables('blank')), '//a[//a < //a]')",
    "@uriComponent(" + ",".join(["variables('long')"] * 200) + ")",
    *("@base64(variables('long'))", "@encodeXmlValue(variables('long'))"),
    "@union(" + ",".join(["variables('big')"] * 300) + ")",
    "@intersection(" + ",".join(["variables('big')"] * 300) + ")",
    "@createArray(" + ",".join(["variables('shared')"] * 300) + ")",
    *("@string(variables('shared'))", "@string(variables('deep'))"),
    *("@equals(variables('deep'), variables('deep'))", "@sort(variables('big'))"),
    "@createArray(" + ",".join(["variables('wide')?.nope"] * 300) + ")",
    "@createArray(" + ",".join(["setProperty(variables('wide'),'k',1)"] * 200) + ")",
    *("@json(variables('brackets'))", "@json(variables('noughts'))", "@int(variables('noughts'))"),
    *("@float(variables('noughts'))", "@decimal(variables('noughts'))"),
    *("@formatNumber(1, variables('picture'))", "@formatNumber(1e308, 'N999')"),
    "@formatNumber(1, 'F9999')",
    "@formatDateTime('2024-01-01', variables('picture'))",
    "@formatDateTime(variables('noughts'))",
    "@parseDateTime(variables('digits'), 'en-US', '" + "dM" * 100 + "')",
    "@parseDateTime(variables('digits'), 'en-US', 'dMyHmsFFFFFFFK')",
    "@addToTime('2024-01-01', 9223372036854775807, 'Year')",
    "@addDays('2024-01-01', 9223372036854775807)",
    *("@mul(9223372036854775807, 9223372036854775807)", "@string(mul(1e308, 1e308))"),
    *("@xml(variables('laughs'))", "@xml(variables('open'))"),
    "@xpath(xml(variables('sibling')), '//a[preceding-sibling::a[position()=1]]')",
    "@xpath(xml(variables('sibling')), '//*[contains(/, string(/))]')",
    "@xpath(xml(variables('sibling')), '//*//*//*//*//*[count(//*) = count(//*)]')",
    "@xpath(xml(variables('attributes')), '//@*')",
    "@xpath(xml(variables('attributes')), '//@*[. = //@*]')",
    *("@xpath(xml('<a/>'), '" + "(" * 4_000 + "')", "@xpath(xml('<a/>'), '" + "-" * 4_000 + "1')"),
    *("@xpath(xml('<a/>'), '" + "/a" * 3_000 + "')", "@" + "not(" * 3_000),
    *("@" + "not(" * 60 + "true" + ")" * 60, "@" + "not(" * 500 + "true" + ")" * 500),
    *("@json('{}')" + "?.a" * 2_000, "@json('[]')" + "[0" * 2_000),
    *("@" + "concat('a'," * 700 + "'b'" + ")" * 700, "@concat(" + ",".join(["'a'"] * 60_000) + ")"),
    *("@{" * 100_000, "@{1}" * 20_000, "@'" + "''" * 100_000, "@" + "1" * 100_000),
    *("@" + "(" * 100_000, "@1" + "." * 100_000, "@" + " " * 100_000, "@" + "x" * 100_000 + "()"),
    "@{'" * 50_000,
)


@pytest.mark.sample(5)
@pytest.mark.parametrize("source", HOSTILE, ids=[source[:60] for source in HOSTILE])
def test_hostile_expression_is_quick(source: str) -> None:
    def attempt() -> None:
        with contextlib.suppress(LanguageError):
            evaluate(Expression("logic", source), SCOPE)

    within(2, attempt)


# What makes much of little; searches and deep nesting take time, not memory.
GROWING = [source for source in HOSTILE if "xpath" not in source and len(source) < 20_000]


@pytest.mark.sample(4)
@pytest.mark.parametrize("source", GROWING, ids=[source[:60] for source in GROWING])
def test_hostile_expression_is_small(source: str) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(LanguageError):
            evaluate(Expression("logic", source), SCOPE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 50_000_000


@pytest.mark.parametrize(
    "name", ["__class__", "__init__", "keys", "items", "__globals__", "format", "mro"]
)
def test_nothing_of_python_is_reachable(name: str) -> None:
    scope = MappingScope({"$variables": {"object": {"a": 1}, "text": "x", "list": []}})

    assert evaluate(Expression("logic", f"@variables('object')?['{name}']"), scope) is None
    for target in ("text", "list"):
        with pytest.raises(LanguageError):
            evaluate(Expression("logic", f"@variables('{target}')?.{name}"), scope)
    with pytest.raises(LanguageError):
        evaluate(Expression("logic", f"@{name}()"), scope)
