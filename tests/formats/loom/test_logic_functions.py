"""Every function of Logic Apps expressions at work; a function without a case here is a failure."""

from __future__ import annotations

import pytest

from whorl.language import Expression, Json, MappingScope, evaluate

NOON = 1_700_049_600  # 2023-11-15T12:00:00Z, a Wednesday

FORM: list[Json] = [
    *({"key": "size", "value": "L"}, {"key": "tag", "value": "a"}, {"key": "Tag", "value": "b"})
]
BODY: dict[str, Json] = {
    "name": "Ida",
    "$formdata": [{"key": "city", "value": "Rome"}],
    "$multipart": [{"body": "only"}],
}
SCOPE = MappingScope(
    {
        "$parameters": {"region": "north"},
        "$variables": {
            "count": 3,
            "words": ["pear", "Apple", "fig"],
            "people": [{"name": "Zoe", "age": 30}, {"name": "Ann", "age": 41}, {"age": 5}],
            "nothing": None,
            "form": {"$content": "cipher"},
        },
        "$actions": {
            "Fetch": {
                "status": "Succeeded",
                "outputs": {"statusCode": 200, "body": {"title": "Report", "pages": [1, 2]}},
            },
            "Note": {"status": "Succeeded", "outputs": "plain"},
            "Form": {"outputs": {"body": {"$formdata": FORM}}},
            "Parts": {"outputs": {"body": {"$multipart": [{"body": "one"}, {"body": "two"}]}}},
            "Later": None,
        },
        "$trigger": {"name": "manual", "outputs": {"headers": {"X-Id": "7"}, "body": BODY}},
        "$item": {"id": 2},
        "$items": {"Outer": {"id": 1}, "Inner": {"id": 2}},
        "$iterations": {"Outer": 4},
        "$scopes": {"Scope": ["Fetch"]},
        "$workflow": {"name": "polish", "run": {"name": "08585"}},
        "$action": {"name": "This", "status": "Running"},
        "$settings": {"URL": "https://example.org"},
        "$call": {"name": "t", "arguments": {"city": "Oslo"}},
        "$callback_url": "https://example.org/start",
        "$now": NOON,
        "$seed": "run-1",
    }
)

CASES: dict[str, tuple[tuple[str, Json], ...]] = {
    "string": (
        ("@concat('a', 1, true, null, 2.0)", "a1True2"),
        *(("@concat(createArray(true, 2.0))", "[true,2.0]"), ("@endsWith('Whorl', 'RL')", True)),
        *(("@startsWith('Whorl', 'wHo')", True), ("@indexOf('Straße, weiter', 'WEITER')", 8)),
        *(("@indexOf('abc', 'z')", -1), ("@lastIndexOf('one two One', 'ONE')", 8)),
        *(("@lastIndexOf('', '')", 0), ("@nthIndexOf('abababa', 'A', 3)", 4)),
        *(("@nthIndexOf('abababa', 'a', -2)", 4), ("@length('four')", 4)),
        *(("@length(variables('words'))", 3), ("@replace('a.b.c', '.', '/')", "a/b/c")),
        *(("@replace('aAa', 'a', '')", "A"), ("@split('a;b;;', ';')", ["a", "b", "", ""])),
        *(("@substring('workflow', 4)", "flow"), ("@substring('workflow', 0, 4)", "work")),
        *(("@slice('workflow', -4)", "flow"), ("@slice('workflow', 1, -1)", "orkflo")),
        *(("@toLower('ÄB')", "äb"), ("@toUpper('straße')", "STRAßE")),
        *(("@trim('\t x\u00a0 ')", "x"), ("@trimByteOrderMark('\ufeffdata')", "data")),
        ("@chunk('abcde', 2)", ["ab", "cd", "e"]),
        ("@chunk(createArray(1, 2, 3), 2)", [[1, 2], [3]]),
        *(("@join(createArray(1, null, 'x'), '-')", "1--x"), ("@utf8Length('é€')", 5)),
        *(("@utf16Length('a😀')", 3), ("@length(guid())", 36), ("@length(guid('N'))", 32)),
    ),
    "collection": (
        *(("@contains('Whorl', 'or')", True), ("@contains('Whorl', 'OR')", False)),
        *(("@empty(null)", True), ("@empty(variables('words'))", False)),
        *(("@first(variables('words'))", "pear"), ("@first('')", "")),
        *(("@last(variables('words'))", "fig"), ("@last(json('[]'))", None)),
        ("@take('workflow', 4)", "work"),
        ("@take(variables('words'), 9)", ["pear", "Apple", "fig"]),
        *(("@skip(variables('words'), 2)", ["fig"]), ("@skip('workflow', 4)", "flow")),
        ("@union(createArray(1, 1), createArray(1.0, '1', 2))", [1, "1", 2]),
        ("@intersection(createArray(3, 1, 3, 2), createArray(2, 3))", [3, 2]),
        ('@intersection(json(\'{"a":1,"b":2}\'), json(\'{"b":2,"a":9}\'))', {"b": 2}),
        ("@reverse(variables('words'))", ["fig", "Apple", "pear"]),
        ("@sort(variables('words'))", ["Apple", "fig", "pear"]),
        (
            "@sort(variables('people'), 'NAME')",
            [{"age": 5}, {"name": "Ann", "age": 41}, {"name": "Zoe", "age": 30}],
        ),
    ),
    "logical": (
        *(("@and(true, equals(1, 1))", True), ("@and(true, false, true)", False)),
        *(("@or(false, false, true)", True), ("@or(false)", False), ("@not(false)", True)),
        *(("@if(greater(2, 1), 'more', 'less')", "more"), ("@equals('a', 'A')", False)),
        *(("@equals(1, 1.0)", True), ("@length('a👍')", 3), ("@substring('👍a', 2)", "a")),
        *(("@substring('👍a', 1, 2)", "\ufffda"), ("@indexOf('👍A', 'a')", 2)),
        *(
            ("@lastIndexOf('a👍a', 'A')", 3),
            ("@slice('👍ab', -2)", "ab"),
            ("@take('👍a', 2)", "👍"),
        ),
        *(("@chunk('👍ab', 2)", ["👍", "ab"]), ("@toUpper('ıß')", "ıß"), ("@toLower('İΣ')", "İσ")),
        ("@startsWith('İx', 'i')", False),
        ('@xml(json(\'{"a:b":{"@xmlns:a":"u"}}\'))[\'$content\']', "PGE6YiB4bWxuczphPSJ1IiAvPg=="),
        *(("@greater('b', 'a')", True), ("@greaterOrEquals(2, 2.0)", True)),
        *(("@less(float('NaN'), 1)", False), ("@lessOrEquals('Z', 'a')", True)),
    ),
    "conversion": (
        ('@string(json(\'{"a": [1, 2.50, null, "x"]}\'))', '{"a":[1,2.5,null,"x"]}'),
        *(("@string(1e15)", "1E+15"), ("@int(' 1,200 ')", 1200), ("@int('-3')", -3)),
        *(("@float('1.234,5', 'de-DE')", 1234.5), ("@float('3e2')", 300.0)),
        ("@string(decimal('1.10'))", "1.10"),
        *(("@string(add(decimal('0.1'), decimal('0.2')))", "0.3"), ("@bool('TRUE')", True)),
        *(("@bool(0)", False), ("@isInt('42')", True), ("@isInt('4.2')", False)),
        *(("@isInt('four')", False), ("@isFloat('4.2')", True), ("@isFloat('four')", False)),
        *(("@json('[1, {\"a\": null}]')", [1, {"a": None}]), ("@json(null)", {})),
        *(("@array(createArray(1))", [[1]]), ("@createArray(1, 'a', null)", [1, "a", None])),
        *(("@base64('hé')", "aMOp"), ("@base64ToString('aMOp')", "hé")),
        ("@decodeBase64('aMOp')", "hé"),
        (
            "@base64ToBinary('aMOp')",
            {"$content-type": "application/octet-stream", "$content": "aMOp"},
        ),
        ("@binary('hé')", {"$content-type": "application/octet-stream", "$content": "aMOp"}),
        ("@{binary('hé')}", "hé"),
        ("@dataUri('hé')", "data:text/plain;charset=utf-8;base64,aMOp"),
        (
            "@dataUriToBinary('data:text/plain;base64,aMOp')",
            {"$content-type": "text/plain", "$content": "aMOp"},
        ),
        ("@decodeDataUri('data:,a%20b')", {"$content-type": "text/plain", "$content": "YSBi"}),
        ("@dataUriToString('data:,a%20b+c')", "a b c"),
    ),
    "math": (
        *(("@add(1, 2)", 3), ("@add(1, 2.5)", 3.5), ("@sub(1, 2)", -1), ("@mul(3, -4)", -12)),
        *(("@div(-7, 2)", -3), ("@div(7, 2.0)", 3.5), ("@mod(-7, 3)", -1), ("@mod(7.5, 2)", 1.5)),
        *(("@min(3, 1, 2)", 1), ("@max(createArray(1, 2.5))", 2.5), ("@max(4)", 4)),
        *(("@rand(5, 6)", 5), ("@range(2, 3)", [2, 3, 4]), ("@range(2, 0)", [])),
        ("@formatNumber(1234.5, 'N1')", "1,234.5"),
    ),
    "date": (
        *(("@utcNow()", "2023-11-15T12:00:00.0000000Z"), ("@utcNow('yyyy-MM-dd')", "2023-11-15")),
        ("@addDays('2024-02-28', 2)", "2024-03-01T00:00:00.0000000"),
        ("@addHours('2024-02-28T23:00:00Z', 1, 'o')", "2024-02-29T00:00:00.0000000Z"),
        ("@addMinutes('2024-01-01T00:00:00Z', -1)", "2023-12-31T23:59:00.0000000Z"),
        ("@addSeconds('2024-01-01T00:00:00Z', 61, 'HH:mm:ss')", "00:01:01"),
        ("@addToTime('2024-01-31', 1, 'Month', 'd MMM')", "29 Feb"),
        ("@subtractFromTime('2024-02-29', 1, 'year', 'yyyy-MM-dd')", "2023-02-28"),
        ("@getFutureTime(2, 'Week', 'yyyy-MM-dd')", "2023-11-29"),
        ("@getPastTime(90, 'Minute', 'HH:mm')", "10:30"),
        (
            "@convertFromUtc('2024-07-01T12:00:00Z', 'W. Europe Standard Time')",
            "2024-07-01T14:00:00.0000000",
        ),
        (
            "@convertToUtc('2024-07-01T12:00:00', 'India Standard Time')",
            "2024-07-01T06:30:00.0000000Z",
        ),
        (
            "@convertTimeZone('2024-01-01T12:00:00', 'Tokyo Standard Time', "
            "'Eastern Standard Time', 'g')",
            "12/31/2023 10:00 PM",
        ),
        ("@dateDifference('2024-01-02', '2024-01-01T22:30:00')", "-01:30:00"),
        ("@dateDifference('2024-01-01', '2024-01-03T00:00:00.5')", "2.00:00:00.5000000"),
        *(("@dayOfWeek('2024-06-02')", 0), ("@dayOfMonth('2024-06-02')", 2)),
        ("@dayOfYear('2024-12-31')", 366),
        ("@startOfDay('2024-06-02T13:14:15Z')", "2024-06-02T00:00:00.0000000Z"),
        ("@startOfHour('2024-06-02T13:14:15Z')", "2024-06-02T13:00:00.0000000Z"),
        ("@startOfMonth('2024-06-02T13:14:15Z', 'd')", "6/1/2024"),
        ("@ticks('0001-01-02')", 864_000_000_000),
        ("@formatDateTime('2024-06-02', 'dddd', 'de-DE')", "Sonntag"),
        ("@parseDateTime('2 juin 2024', 'fr-FR')", "2024-06-02T00:00:00.0000000"),
    ),
    "workflow": (
        *(("@parameters('Region')", "north"), ("@variables('COUNT')", 3)),
        *(("@items('outer')?.id", 1), ("@item()['id']", 2), ("@iterationIndexes('Outer')", 4)),
        ("@result('Scope')[0].status", "Succeeded"),
        ("@appsetting('url')", "https://example.org"),
        *(("@agentParameters('city')", "Oslo"), ("@body('fetch').title", "Report")),
        *(("@body('Later')", None), ("@outputs('Fetch')?['statusCode']", 200)),
        *(("@outputs('Note')", "plain"), ("@actionBody('Fetch').pages[1]", 2)),
        *(("@actionOutputs('Fetch').statusCode", 200), ("@actions('Fetch').status", "Succeeded")),
        *(("@actions('Fetch', 'status')", "Succeeded"), ("@trigger().name", "manual")),
        *(("@triggerOutputs().headers['x-id']", "7"), ("@triggerBody().name", "Ida")),
        *(("@workflow().run.name", "08585"), ("@action().status", "Running")),
        *(("@action('name')", "This"), ("@listCallbackUrl()", "https://example.org/start")),
        *(("@formDataValue('Form', 'SIZE')", "L"), ("@formDataValue('Form', 'none')", None)),
        ("@formDataMultiValues('Form', 'tag')", ["a", "b"]),
        *(("@multipartBody('Parts', 1)", "two"), ("@triggerFormDataValue('city')", "Rome")),
        *(("@triggerFormDataMultiValues('city')", ["Rome"]), ("@triggerMultipartBody(0)", "only")),
    ),
    "uri": (
        ("@uriComponent('a b/é')", "a%20b%2F%C3%A9"),
        ("@encodeUriComponent('a', '/', 1)", "a%2F1"),
        ("@uriComponentToString('a%20b%2F%C3%A9')", "a b/é"),
        ("@decodeUriComponent('%41')", "A"),
        (
            "@uriComponentToBinary('a%20b')",
            {"$content-type": "application/octet-stream", "$content": "YSUyMGI="},
        ),
        ("@uriHost('https://Me@Example.org:81/x')", "example.org"),
        ("@uriPath('https://example.org/a/b?c#d')", "/a/b"),
        ("@uriPathAndQuery('https://example.org?c=1')", "/?c=1"),
        *(("@uriPort('https://example.org')", 443), ("@uriPort('https://example.org:81')", 81)),
        ("@uriQuery('https://example.org/?c=1#d')", "?c=1"),
        ("@uriQuery('https://example.org/')", ""),
        ("@uriScheme('HTTPS://example.org')", "https"),
    ),
    "json": (
        ("@addProperty(item(), 'name', 'x')", {"id": 2, "name": "x"}),
        *(("@setProperty(item(), 'ID', 3)", {"id": 3}), ("@removeProperty(item(), 'ID')", {})),
        ('@mergeObjects(item(), json(\'{"id":5,"b":1}\'))', {"id": 5, "b": 1}),
        ("@coalesce(null, variables('nothing'), 'found')", "found"),
    ),
    "xml": (
        ("@xpath(xml('<a><b>1</b><b>2</b></a>'), 'sum(//b)')", 3.0),
        ("@encodeXmlValue('<\"&>')", "&lt;&quot;&amp;&gt;"),
        ("@decodeXmlValue('&lt;&amp;lt;')", "<&lt;"),
        ("@encodeXmlName('two words')", "two_x0020_words"),
        ("@decodeXmlName('two_x0020_words')", "two words"),
    ),
}

ALL = [(source, expected) for cases in CASES.values() for source, expected in cases]


@pytest.mark.parametrize(("source", "expected"), ALL, ids=[source for source, _ in ALL])
def test_function_gives_its_value(source: str, expected: Json) -> None:
    actual = evaluate(Expression("logic", source), SCOPE)

    assert expected == actual
    assert type(expected) is type(actual)


def test_guid_and_rand_replay_and_differ_within_one_evaluation() -> None:
    source = Expression("logic", "@createArray(guid(), guid(), rand(0, 1000000))")
    first, second = evaluate(source, SCOPE), evaluate(source, SCOPE)

    assert first == second
    assert isinstance(first, list)
    assert first[0] != first[1]
    other = evaluate(source, MappingScope({"$seed": "run-2"}))
    assert other != first
