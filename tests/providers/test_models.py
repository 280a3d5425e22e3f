"""Models: names, fail-over, keys, and which one judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from provider_server import Seen, ask, completion, say, say_at, scripted, send, settings_for

from whorl.errors import ProviderError
from whorl.providers.models.client import choose_models
from whorl.providers.models.wires import OpenAIWire
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

if TYPE_CHECKING:
    import asyncio

    from whorl.providers.models.conversation import Candidate
    from whorl.providers.settings import Settings

TWO = {
    "providers": {
        "one": {"base_url": "https://one.example/v1", "model": "m1"},
        "two": {"base_url": "https://two.example/v1", "api_key": "key-of-two-2"},
        "keyed": {"base_url": "https://three.example/v1", "api_key": "env:NOT_SET"},
    },
    "defaults": {"provider": "one"},
}


def names(settings: Settings, **inputs: Any) -> list[tuple[str, str]]:
    found = choose_models(settings, inputs).candidates
    return [(candidate.provider.name, candidate.model) for candidate in found]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        *(({}, [("one", "m1")]), ({"model": []}, [("one", "m1")])),
        *(({"model": "x"}, [("one", "x")]), ({"model": "two/x"}, [("two", "x")])),
        ({"model": "two/a/b"}, [("two", "a/b")]),
        ({"model": "meta/llama"}, [("one", "meta/llama")]),
        ({"model": "openai/gpt-oss", "provider": "two"}, [("two", "openai/gpt-oss")]),
        ({"model": ["two/x", "y"]}, [("two", "x"), ("one", "y")]),
        (
            {"model": [{"provider": "two", "model": "x"}, {"model": "y"}]},
            [("two", "x"), ("one", "y")],
        ),
        ({"model": ["keyed/x", "two/y"]}, [("two", "y")]),
        ({"model": "a/b", "provider": "p", "model_url": "http://p.example"}, [("p", "a/b")]),
    ],
)
def test_names_of_models(inputs: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert names(settings_from(TWO, {}), **inputs) == expected


@pytest.mark.parametrize(
    ("table", "inputs", "word"),
    [
        ({}, {"model": "anthropic/claude"}, "ANTHROPIC_API_KEY"),
        ({}, {"provider": "deepseek"}, "DEEPSEEK_API_KEY"),
        (TWO, {"provider": "twoo"}, "did you mean 'two'"),
        (TWO, {"provider": "two"}, "no model is named"),
        *((TWO, {"provider": "keyed", "model": "x"}, "NOT_SET"), (TWO, {"model": 5}, "not 5")),
        *((TWO, {"model": ["x"] * 11}, "1 to 10"), (TWO, {"provider": 5}, "must be a text")),
    ],
)
def test_models_that_are_not_there(table: Any, inputs: dict[str, Any], word: str) -> None:
    with pytest.raises(ProviderError, match=word) as caught:
        choose_models(settings_from(table, {}), inputs)

    assert caught.value.code == "P110"


def test_an_address_in_the_file_gets_a_key_only_if_it_belongs_there() -> None:
    settings = settings_from(TWO, {})

    def chosen(url: str) -> Candidate:
        inputs: Any = {"model": "a/b", "provider": "two", "model_url": url}
        (candidate,) = choose_models(settings, inputs).candidates
        return candidate

    same = chosen("https://two.example")
    assert same.provider.api_key is not None
    assert (same.model, same.provider.base_url) == ("a/b", "https://two.example")
    assert chosen("https://evil.example").provider.api_key is None
    assert chosen("https://two.example:444/v1").provider.api_key is None


async def name_model(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Answers with what was asked."""
    send(writer, completion(f"NO {seen.path} {seen.json['model']}"))


@pytest.mark.parametrize("status", [500, 429, 404])
def test_the_next_model_is_tried(status: int) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.json["model"] == "good":
            send(writer, completion("ok"))
        else:
            send(writer, {}, status=status)

    lists = (["bad", "good", "unused"], ["bad", "worse"])
    (reply, fault), seen = say_at(answer, settings_for, *(ask(model=names) for names in lists))

    assert (reply.value, reply.detail["model"], reply.usage.calls) == ("ok", "one/good", 2)
    assert reply.detail["tried"][0].startswith("one/bad: POST ")
    assert [one.json["model"] for one in seen] == ["bad", "good", "bad", "worse"]
    assert len(fault.detail["tried"]) == 2
    assert fault.detail["usage"]["calls"] == 2


def test_an_unknown_kind_of_provider_fails_at_its_first_call() -> None:
    table = {"providers": {"x": {"kind": "smoke", "base_url": "https://x.example", "model": "x"}}}

    (fault,) = say(settings_from(table, {}), ask())

    assert fault.code == "P110"
    assert "kind 'smoke'" in str(fault)
    assert "openai, anthropic, ollama, local, scripted" in str(fault)


def test_a_model_that_does_not_exist_has_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise ProviderError("no such model", code="P104", detail={"status": 404})

    monkeypatch.setattr(OpenAIWire, "converse", refuse)
    settings = settings_from({}, {"OPENAI_API_KEY": "k" * 10})
    (fault,) = say(settings, ask(model="openai/unheard-of"))

    assert (fault.code, str(fault)) == ("P127", "no such model")


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        ("", {}, "m"),
        ("", {"defaults": {"model": "own"}}, "own"),
        ("one/wise", {"defaults": {"model": "own", "provider": "one"}}, "wise"),
        ("one/wise", {"model": "named"}, "named"),
        ("one/wise", {"provider": "one", "model": "named"}, "named"),
    ],
)
def test_which_model_judges(operator: str, inputs: dict[str, Any], expected: str) -> None:
    extra = {"defaults": {"provider": "one", "model": "m", "judge_model": operator}}
    request = Request("r", "l[1]/:judge", "judge", {"question": "q", "text": "t", **inputs})

    (reply,), _ = say_at(name_model, lambda url: settings_for(url, extra), request)

    assert reply.value["answer"] == f"NO /v1/chat/completions {expected}"


@pytest.mark.parametrize(
    "inputs",
    [
        *({"prompt": None}, {"temperature": "hot"}, {"max_tokens": 0}, {"max_tokens": 1.5}),
        *({"messages": [{"role": "boss", "content": "x"}]}, {"tools": ["search"]}),
    ],
)
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    settings = scripted({"match": ".", "replies": ["x"]})

    (fault,) = say(settings, ask(**{"prompt": "p", **inputs}))

    assert fault.code == "P113"
