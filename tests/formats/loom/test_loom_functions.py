"""Functions that the reader of JSON actions puts into a workflow."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.language import Expression, LanguageError, MappingScope, evaluate


def called(source: str, it: Any) -> Any:
    return evaluate(Expression("jinja", source, "loom"), MappingScope({"it": it}))


def reply(kind: str, body: Any, **more: Any) -> dict[str, Any]:
    return {"status": 200, "headers": {"content-type": kind}, "body": body, **more}


XML, PNG, FORM = "application/xml; charset=utf-8", "image/png", "application/x-www-form-urlencoded"
PAIRS = [{"key": key, "value": value} for key, value in (("a", "1"), ("a", "2"), ("b", ""))]


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (reply("application/json", {"a": 1}), {"a": 1}),
        (reply("application/problem+json", "broken"), "broken"),
        (reply("text/plain", "hi"), "hi"),
        ({"status": 200, "headers": {}, "body": "bare"}, "bare"),
        (reply(XML, "<a/>"), {"$content-type": XML, "$content": "PGEvPg=="}),
        (reply(PNG, "iVBORw==", encoding="base64"), {"$content-type": PNG, "$content": "iVBORw=="}),
        (
            reply(FORM, "a=1&a=2&b="),
            {"$content-type": FORM, "$content": "YT0xJmE9MiZiPQ==", "$formdata": PAIRS},
        ),
        (reply("text/plain", ""), None),
    ],
)
def test_what_a_body_becomes_depends_on_its_type(given: Any, body: Any) -> None:
    assert called("http_outputs(it)", given).get("body") == body
    assert called("http_outputs(it)", [1]) == {"statusCode": 200, "body": [1]}


def test_a_message_without_a_boundary_is_refused() -> None:
    with pytest.raises(LanguageError):
        called("http_outputs(it)", reply("multipart/mixed", "QQ==", encoding="base64"))
