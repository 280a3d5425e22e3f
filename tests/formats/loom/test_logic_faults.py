"""What goes wrong while an expression is evaluated, in the words that users of Azure know."""

from __future__ import annotations

import pytest

from whorl.language import EvaluationError, Expression, MappingScope, evaluate

SCOPE = MappingScope(
    {
        "$variables": {"object": {"a": 1, "b": 2}, "list": [1, 2], "text": "x", "null": None},
        "$actions": {"Get": {"outputs": {"body": {"FullName": "x"}}}},
        "$trigger": None,
    }
)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("@variables('object').c", "property 'c' doesn't exist, available properties are 'a, b'"),
        ("@variables('list')[2]", "the array index '2' is outside bounds (0, 1) of array"),
        ("@variables('list')?['a']", "of type 'Array' by a key of type 'String'"),
        ("@variables('object')[0]", "of type 'Object' by a key of type 'Integer'"),
        ("@variables('text')?.a", "Property selection is not supported on values of type 'String'"),
        ("@variables('null').a", "property 'a' cannot be selected of null"),
        ("@variables('objet')", "the variable 'objet' is not defined"),
        ("@body('Got')", "the workflow action 'Got' is not defined"),
        ("@item()", "'item' cannot be used here: there is no item"),
        ("@variables(1)", "'variables' expects its parameter to be of type string"),
        ("@utcNow()", "'utcNow' cannot be used here: there is no time"),
        ("@guid()", "random values are not allowed here"),
        ("@length(variables('object'))", "to be an array or a string. The provided value is of"),
        ("@join('a', 'b')", "expects its first parameter to be an array"),
        ("@replace('a', '', 'b')", "the text to replace is empty"),
        ("@substring('abc', 2, 5)", "do not lie within the text"),
        ("@nthIndexOf('a', 'a', 0)", "the occurrence counts from 1"),
        ("@dataUri(null)", "to not be null"),
        ("@dataUriToBinary('data:text/plain;charset=nope,abc')", "'nope' is not supported"),
        ("@xml('<a:r/>')", "unbound prefix"),
        ("@chunk('abc', 0)", "to be a positive integer"),
        ("@contains(1, 1)", "to be an object, an array or a string"),
        ("@union(createArray(1), json('{}'))", "expects parameters of same type"),
        ("@sort(createArray(1, 'a'))", "not all numbers or all texts"),
        ("@trim(null)", "parameters are not valid"),
        ("@and(true, 1)", "'and' expects its second parameter to be of type boolean"),
        (
            "@greater(1, 'a')",
            "expects its second parameter to be a number or a string as the other one",
        ),
        ("@less(null, 1)", "expects its first parameter to be a number or a string"),
        ("@add(9223372036854775807, 1)", "an integer beyond 64 bits"),
        ("@div(1, 0)", "attempt to divide an integer or decimal by zero"),
        ("@min(json('[]'))", "the array is empty"),
        ("@rand(2, 2)", "the minimum has to be less"),
        ("@range(0, -1)", "the count cannot be below 0"),
        ("@int('twelve')", "Could not parse twelve as int"),
        ("@float('1', 'xx-XX')", "the locale 'xx-XX' is not supported"),
        ("@decimal('1e5')", "Could not parse 1e5 as decimal"),
        ("@decimal(1e40)", "too large or too small for a decimal"),
        ("@bool('yes')", "to be a boolean, a number, 'true' or 'false'"),
        *(("@json('{')", "cannot be parsed as JSON"), ("@json('1e999')", "a number is too large")),
        ("@json(1)", "to be a string or an XML"),
        ("@base64ToString('a')", "not a valid base64 string"),
        ("@dataUriToString('x')", "not a data URI"),
        ("@uriHost('relative/path')", "not an absolute URI"),
        ("@addDays('yesterday', 1)", "not a valid date or time"),
        ("@addDays('2024-01-01', 1, 'Q')", "the date format 'Q' is not valid"),
        ("@addToTime('2024-01-01', 1, 'Fortnight')", "the time unit 'Fortnight' is not one of"),
        ("@addToTime('2024-01-01', 999999, 'Year')", "outside the years 1 to 9999"),
        ("@convertFromUtc('2024-01-01', 'Mars Time')", "the time zone id 'Mars Time' is not valid"),
        ("@convertFromUtc('2024-01-01', '../etc/passwd')", "is not valid"),
        ("@formatNumber(1, 'Q')", "the number format 'Q' is not valid"),
        *(("@xml('<a>')", "not valid XML"), ("@xpath('<a/>', '/a')", "to be an XML object")),
        ("@xpath(xml('<a/>'), '/a[')", "is not valid"),
        ("@xpath(xml('<a/>'), 'nope()')", "XPath has no function or axis 'nope'"),
        ("@formDataValue('Get', 'a')", "the body is not form data"),
        ("@multipartBody('Get', 0)", "the body has no part with the index '0'"),
        ("@trigger()?.x.y", "cannot be selected of null"),
    ],
)
def test_fault(source: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(Expression("logic", source), SCOPE)

    assert message in caught.value.message
    assert caught.value.offset is not None
