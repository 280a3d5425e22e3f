"""Strings of Logic Apps: what is literal, what is an expression, what each of them means."""

from __future__ import annotations

import pytest

from whorl.language import Expression, Json, LanguageError, LimitExceeded, MappingScope, evaluate

SCOPE = MappingScope(
    {
        "$variables": {
            "object": {"Name": "Ida", "list": [1, {"deep": True}], "a b": 5, "null": None},
            "text": "abc",
            "upper": {"KEY": 1, "key": 2, "Key": 3},
            "flag": False,
        },
        "$actions": {"Say it (twice)": {"outputs": {"body": "hi"}}, "Not yet": None},
    }
)


def value(source: str, *, syntax: str = "logic") -> Json:
    return evaluate(Expression(syntax, source), SCOPE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(("", ""), ("@", "@"), ("plain", "plain"), ("me@example.org", "me@example.org")),
        *((" @concat('a')", " @concat('a')"), ("@@concat('a')", "@concat('a')")),
        *(("@@{1}@{2}", "@{1}@{2}"), ("a@@{1}b@{2}", "a@{1}b2"), ("@{1}@@{2}", "1@{2}")),
        *(("@{true}", "True"), ("<@{null}>", "<>"), ("@{'}'}@{'{'}", "}{")),
        ("@{ 'spaced' }", "spaced"),
        ("@{variables('object')}", '{"Name":"Ida","list":[1,{"deep":true}],"a b":5,"null":null}'),
        ("@{1.0} @{createArray(1.0)}", "1 [1.0]"),
    ],
)
def test_template_level(source: str, expected: str) -> None:
    assert expected == value(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(("@1", 1), ("@-7", -7), ("@+.5", 0.5), ("@.5", 0.5), ("@1.", 1.0), ("@1E2", 100.0)),
        *(("@TRUE", True), ("@nuLL", None), ("@'it''s'", "it's"), ("@'two\nlines'", "two\nlines")),
        *(("@  concat ( 'a' , 'b' )  ", "ab"), ("@CONCAT('a','b')", "ab")),
        *(("@concat('a',\u3000'b')", "ab"), ("@variables('object').name", "Ida")),
        *(("@variables('object')['NAME']", "Ida"), ("@variables('object')?.missing", None)),
        ("@variables('object')?['missing']?['more']", None),
        *(("@variables('object').null?.x?[0]", None), ("@variables('object').list[1].deep", True)),
        *(("@variables('object')?.list?[9]", None), ("@variables('object')['a b']", 5)),
        *(("@variables('object')[concat('a',' ','b')]", 5), ("@variables('upper').key", 2)),
        *(("@variables('upper').kEY", 1), ("@body('say it (TWICE)')", "hi")),
        *(("@if(true, 1, nope())", 1), ("@if(false, length(null), 2)", 2)),
        *(("@and(false, nope())", False), ("@or(true, concat())", True)),
        *(("@coalesce(1, nope(), concat())", 1), ("@or(false, and(true, true), nope())", True)),
    ],
)
def test_expression_level(source: str, expected: Json) -> None:
    actual = value(source)

    assert expected == actual
    assert type(expected) is type(actual)


@pytest.mark.parametrize(
    ("source", "message", "offset"),
    [
        ("@nope()", "The template function 'nope' is not defined or not valid", 1),
        ("@and(nope(), true)", "The template function 'nope' is not defined or not valid", 5),
        ("@concat('a'", "expected ',', not the end", 11),
        ("@concat('a' 'b')", "expected ',', not a text", 12),
        ("@{concat('a')", "expected '}', not the end", 13),
        ("text @{}", "expected a name, not '}'", 7),
        ("@name", "expected '(', not the end", 5),
        ("@concat(variables('a').)", "expected a name", 23),
        ('@concat("a")', "the string character '\"' at position '7' is not expected", 8),
        ("@concat('a)", "the string character \"'\" at position '7' is not expected", 8),
        ("@not(@variables('flag'))", "expected a name, not '@'", 5),
        ("@99999999999999999999", "is an integer beyond 64 bits", 1),
        ("@empty()", "'empty' expects one parameter: empty(collection)", 1),
        ("@if(true, 1)", "'if' expects three parameters", 1),
        ("@concat()", "'concat' expects at least one parameter", 1),
        ("@triggerBody('x')", "'triggerBody' expects no parameters", 1),
    ],
)
def test_mistakes_have_azures_words_and_a_position(source: str, message: str, offset: int) -> None:
    with pytest.raises(LanguageError) as caught:
        value(source)

    assert message in caught.value.message
    assert offset == caught.value.offset


def test_mistake_in_a_branch_shows_when_the_branch_is_taken() -> None:
    with pytest.raises(LanguageError) as caught:
        value("@if(variables('flag'), 1, nope())")

    assert "'nope'" in caught.value.message
    assert caught.value.offset == 26


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(("@variables('object').missing.more", None), ("@variables('unheard of')", None)),
        ("@body('Not yet').status", None),
        ("@equals(body('Not yet').status, 'complete')", False),
        *(("@not(@variables('flag'))", True), ("@concat(@variables('text'), @string(1))", "abc1")),
        *(("v=@{@variables('text')}", "v=abc"), ("@variables('object').list[5]", None)),
        ("@variables('object').list[1].deep", True),
        ("@append(variables('unheard of'), 1)", [1]),
        ("@append(createArray(1), null)", [1, None]),
        ("""@concat("it's ", '"', "a""b")""", """it's "a"b"""),
    ],
)
def test_lenient_forgives_what_is_missing_and_takes_both_quotes(
    source: str, expected: Json
) -> None:
    actual = value(source, syntax="logic-lenient")

    assert expected == actual
    assert type(expected) is type(actual)


def test_expression_has_at_most_8192_characters() -> None:
    inside = "@concat('" + "x" * 8_000 + "')"
    assert value(inside) == "x" * 8_000
    assert value("y" * 20_000 + "@{1}") == "y" * 20_000 + "1"

    with pytest.raises(LimitExceeded):
        value("@concat('" + "x" * 8_192 + "')")
