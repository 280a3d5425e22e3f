"""XML without document types: into JSON and back, and XPath over it."""

from __future__ import annotations

import sys

import pytest

from whorl.language import (
    EvaluationError,
    Expression,
    Json,
    LanguageError,
    LimitExceeded,
    MappingScope,
    evaluate,
)

ORDERS = """<?xml version="1.0"?>
<orders xmlns:x="urn:x">
  <order id="1" paid="yes"><item price="2.5">pen</item><item price="4">ink</item></order>
  <order id="2"><item price="10">lamp</item><!-- last --></order>
  <x:note>see <b>below</b></x:note>
</orders>"""
SCOPE = MappingScope({"$variables": {"orders": ORDERS}})


def value(source: str) -> Json:
    return evaluate(Expression("logic", source), SCOPE)


def found(path: str) -> Json:
    return value(f"@xpath(xml(variables('orders')), '{path}')")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *(("//item/text()", ["pen", "ink", "lamp"]), ("/orders/order[2]/item/text()", ["lamp"])),
        *(("/orders/order[@paid]/@id", ["1"]), ("//item[@price > 3]/text()", ["ink", "lamp"])),
        *(('//item[. = "ink"]/@price', ["4"]), ("//order[last()]/@id", ["2"])),
        *(("//item[position() = 1]/text()", ["pen", "lamp"]), ("(//item)[1]/text()", ["pen"])),
        *(("//order/item[1] | //order[1]/@id", None), ("count(//item)", 3.0)),
        *(("sum(//@price)", 16.5), ("string(//order[1])", "penink")),
        ('//*[local-name() = "note"]/b/text()', ["below"]),
        *(('string(//*[namespace-uri() = "urn:x"])', "see below"), ("name(//x:note)", "x:note")),
        *(("//x:*/b/text()", ["below"]), ("//b/../text()", ["see "])),
        ("//b/ancestor::orders/order/@id", ["1", "2"]),
        ("//item[1]/following-sibling::item/text()", ["ink"]),
        *(("//item[2]/preceding-sibling::item/text()", ["pen"]), ("//comment()", [" last "])),
        *(("boolean(//item)", True), ("not(//item)", False)),
        ("//order[item and not(@paid)]/@id", ["2"]),
        ('//item[contains(., "n") and starts-with(., "p")]/text()', ["pen"]),
        ('concat("a", 1 + 2 * 3, -(4 div 2), 7 mod 4)', "a7-23"),
        *(('translate("banana", "an", "o")', "booo"), ('substring("12345", 2, 3)', "234")),
        *(('substring-before("a=b", "=")', "a"), ('substring-after("a=b", "=")', "b")),
        *(('normalize-space("  a   b ")', "a b"), ('string-length("abc")', 3.0)),
        *(("round(2.5)", 3.0), ("floor(-1.5) + ceiling(1.2)", 0.0), ('number("x")', "NaN")),
        *(("1 = 1.0 and 2 != 3 and 1 <= 1 or false()", True), ("/", None), ("//nothing", [])),
        ("self::node()/orders/order/@id", ["1", "2"]),
    ],
)
def test_xpath(path: str, expected: Json) -> None:
    actual = found(path)

    if expected is None:
        assert isinstance(actual, list)
        assert actual
    else:
        assert expected == actual


@pytest.mark.parametrize(
    "path",
    [
        *("", "//", "/a[", "a b", "//item[", "nope()", "count()", "foo::a", "count(1)", "1 +", "]"),
        *("(" * 99, 'document("/etc/passwd")', 're:test("a", "a")', 'id("1")', 'key("a", "b")'),
        *("//namespace::*", "$orders", "//undeclared:a"),
    ],
)
def test_xpath_is_valid_and_has_nothing_but_its_core(path: str) -> None:
    with pytest.raises(LanguageError):
        found(path)


@pytest.mark.parametrize(
    "path",
    [
        *("//a[//a]", "//a[preceding-sibling::a]", "//a = //r", "//a | //r", "//a//a//a"),
        *("//a/..", "//a[ancestor::r]", "contains(/r, /r/a)", "1" + " + 1" * 2_000),
        "concat(" + "/, " * 900 + "/)",
        "(" * 33 + "1" + ")" * 33,
    ],
)
def test_the_work_of_xpath_is_limited(path: str) -> None:
    scope = MappingScope({"$variables": {"wide": "<r>" + "<a>text</a>" * 9_000 + "</r>"}})
    with pytest.raises(LimitExceeded):
        evaluate(Expression("logic", f"@xpath(xml(variables('wide')), '{path}')"), scope)


def test_without_its_extra_xpath_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)

    assert value("@json(xml('<a>1</a>'))") == {"a": "1"}
    with pytest.raises(EvaluationError, match="needs the extra `xslt`") as caught:
        found("//item")
    assert "pip install 'whorl[xslt]'" in str(caught.value.help)


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        *(("<a/>", {"a": None}), ("<a></a>", {"a": ""}), ("<a> </a>", {"a": ""})),
        *(("<a>1</a>", {"a": "1"}), ('<a b="1"/>', {"a": {"@b": "1"}})),
        ('<a b="1">x</a>', {"a": {"@b": "1", "#text": "x"}}),
        ("<a><b/><b>2</b></a>", {"a": {"b": [None, "2"]}}),
        ("<a><![CDATA[<]]></a>", {"a": {"#cdata-section": "<"}}),
        ("<?pi some?><a/>", {"?pi": "some", "a": None}),
    ],
)
def test_xml_to_json(xml: str, expected: Json) -> None:
    assert expected == value(f"@json(xml('{xml}'))")


@pytest.mark.parametrize(
    ("json", "expected"),
    [
        ('{"a": null}', "<a />"),
        ('{"a": ""}', "<a></a>"),
        ('{"a": [1, true, 2.5]}', None),
        (
            '{"a": {"b": [1, true, 2.5], "@c": "<"}}',
            '<a c="&lt;"><b>1</b><b>true</b><b>2.5</b></a>',
        ),
        ('{"?xml": {"@version": "1.0"}, "a": {"#text": "x"}}', '<?xml version="1.0"?><a>x</a>'),
        ('{"1 a": "x"}', "<_x0031__x0020_a>x</_x0031__x0020_a>"),
    ],
)
def test_json_to_xml(json: str, expected: str | None) -> None:
    source = f"@{{xml(json('{json}'))}}"
    if expected is None:
        with pytest.raises(LanguageError):
            value(source)
    else:
        assert expected == value(source)


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE a [<!ENTITY x "xx">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<!DOCTYPE a><a/>",
        "<a>&nbsp;</a>",
    ],
)
def test_document_types_and_entities_are_refused(xml: str) -> None:
    with pytest.raises(LanguageError):
        value(f"@xml('{xml}')")
