"""Models: names, fail-over, limits, estimates, scripted replies, the judge."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from provider_server import (
    Seen,
    ask,
    completion,
    providers_for,
    say,
    scripted,
    send,
    serve,
    settings_for,
)

from whorl.errors import ProviderError, UsageError
from whorl.providers.models.client import Prices
from whorl.providers.models.conversation import Candidate
from whorl.providers.models.selection import choose_models
from whorl.providers.models.wires import OpenAIWire
from whorl.providers.settings import ProviderSettings, Settings
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request


def quiet(_: str) -> None:
    pass


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
        ({}, [("one", "m1")]),
        ({"model": []}, [("one", "m1")]),
        ({"model": "x"}, [("one", "x")]),
        ({"model": "two/x"}, [("two", "x")]),
        ({"model": "two/a/b"}, [("two", "a/b")]),
        ({"model": "meta/llama"}, [("one", "meta/llama")]),
        ({"model": "openai/gpt-oss", "provider": "two"}, [("two", "openai/gpt-oss")]),
        ({"model": ["two/x", "y"]}, [("two", "x"), ("one", "y")]),
        (
            {"model": [{"provider": "two", "model": "x"}, {"model": "y"}]},
            [("two", "x"), ("one", "y")],
        ),
        ({"model": ["keyed/x", "two/y"]}, [("two", "y")]),
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
        (TWO, {"provider": "keyed", "model": "x"}, "NOT_SET"),
        (TWO, {"model": 5}, "not 5"),
        (TWO, {"model": ["x"] * 11}, "1 to 10"),
        (TWO, {"provider": 5}, "must be a text"),
    ],
)
def test_models_that_are_not_there(table: Any, inputs: dict[str, Any], word: str) -> None:
    with pytest.raises(ProviderError, match=word) as caught:
        choose_models(settings_from(table, {}), inputs)

    assert caught.value.code == "P110"


def test_a_provider_that_is_not_set_up_is_not_mistaken_for_a_model() -> None:
    settings = settings_from({}, {"OPENAI_API_KEY": "k" * 10})

    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        choose_models(settings, {"model": "anthropic/claude-x"})

    router = settings_from({}, {"OPENROUTER_API_KEY": "k" * 10})
    assert names(router, model="anthropic/claude-x") == [("openrouter", "anthropic/claude-x")]


def test_an_address_in_the_file_gets_a_key_only_if_it_belongs_there() -> None:
    settings = settings_from(TWO, {})

    (same,) = choose_models(
        settings, {"model": "a/b", "provider": "two", "model_url": "https://two.example"}
    ).candidates
    (other,) = choose_models(
        settings, {"model": "x", "provider": "two", "model_url": "https://evil.example"}
    ).candidates
    (port,) = choose_models(
        settings, {"model": "x", "provider": "two", "model_url": "https://two.example:444/v1"}
    ).candidates

    assert same.provider.api_key is not None
    assert (same.model, same.provider.base_url) == ("a/b", "https://two.example")
    assert other.provider.api_key is None
    assert port.provider.api_key is None


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://a.example", "https://a.example/v1/chat/completions"),
        ("https://a.example/", "https://a.example/v1/chat/completions"),
        ("https://a.example/api/v1/", "https://a.example/api/v1/chat/completions"),
        ("https://a.example/x/chat/completions", "https://a.example/x/chat/completions"),
        (
            "https://a.example/deployments/g?api-version=1",
            "https://a.example/deployments/g/chat/completions?api-version=1",
        ),
    ],
)
def test_addresses_of_servers(base_url: str, url: str) -> None:
    assert OpenAIWire.url(base_url) == url


def test_model_url_is_used() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion(seen.path + " " + seen.json["model"]))

    async def main() -> Any:
        async with (
            serve(answer) as server,
            providers_for(settings_for(server.url)) as providers,
        ):
            request = ask(model="openai/gpt-oss-20b", provider="lm_studio", model_url=server.url)
            return (await providers.kind("ask").perform(request, quiet)).value

    assert asyncio.run(main()) == "/v1/chat/completions openai/gpt-oss-20b"


@pytest.mark.parametrize("status", [500, 429, 404])
def test_the_next_model_is_tried(status: int) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.json["model"] == "good":
            send(writer, completion("ok"))
        else:
            send(writer, {}, status=status)

    async def main() -> Any:
        async with (
            serve(answer) as server,
            providers_for(settings_for(server.url)) as providers,
        ):
            kind = providers.kind("ask")
            reply = await kind.perform(ask(model=["bad", "good", "unused"]), quiet)
            with pytest.raises(ProviderError) as caught:
                await kind.perform(ask(model=["bad", "worse"]), quiet)
            return reply, caught.value, [seen.json["model"] for seen in server.seen]

    reply, fault, asked = asyncio.run(main())
    assert reply.value == "ok"
    assert reply.detail["model"] == "one/good"
    assert reply.usage.calls == 2
    assert reply.detail["tried"][0].startswith("one/bad: POST ")
    assert asked == ["bad", "good", "bad", "worse"]
    assert len(fault.detail["tried"]) == 2
    assert fault.detail["usage"]["calls"] == 2


def test_a_kind_that_nobody_knows_is_told_when_it_is_used() -> None:
    table = {"providers": {"x": {"kind": "smoke", "base_url": "https://x.example", "model": "x"}}}

    (fault,) = say(settings_from(table, {}), ask())

    assert fault.code == "P110"
    assert "kind 'smoke'" in str(fault)
    assert "openai, anthropic, ollama, local, scripted" in str(fault)


PRICES = {"prices": {"scripted": {"input": 1000.0, "output": 10000.0}}}


def test_the_estimate_that_is_reserved() -> None:
    async def main() -> list[Any]:
        settings = settings_for("https://x.example", PRICES)
        async with providers_for(settings) as providers:
            kind = providers.kind("ask")
            return [
                kind.estimate(ask("Rate", model="scripted", max_tokens=2)),
                kind.estimate(ask("Rate", model="scripted")),
                kind.estimate(ask("Rate", model="unpriced")),
                kind.estimate(ask("Rate", model=["scripted", "unpriced"])),
            ]

    short, usual, unpriced, mixed = asyncio.run(main())
    assert 0.021 <= short.cost_usd <= 0.029
    assert (short.calls, short.tokens) == (1, 6)
    assert usual.tokens == 4 + 1024
    assert unpriced.cost_usd is None
    assert mixed.cost_usd is None


def test_prices_of_the_public_list() -> None:
    settings = settings_from({}, {"OPENAI_API_KEY": "k" * 10})
    official = settings.providers["openai"]
    elsewhere = ProviderSettings(name="openai", base_url="https://proxy.example/v1")
    prices = Prices(settings)

    cost = prices.cost(Candidate(official, "gpt-4o-mini"), 1_000_000, 1_000_000)

    assert cost is not None
    assert 0.1 < cost < 10
    assert prices.cost(Candidate(official, "no-such-model"), 1, 1) is None
    assert prices.cost(Candidate(elsewhere, "gpt-4o-mini"), 1, 1) is None


@pytest.mark.parametrize(
    ("said", "verdict"), [("**YES**", "met"), ("NO, not YES", "not_met"), ("Hm.", "ambiguous")]
)
def test_the_judge_asks_once(said: str, verdict: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion(said))

    async def main() -> Any:
        async with serve(answer) as server:
            extra = {"defaults": {"provider": "one", "model": "m", "judge_model": "one/wise"}}
            async with providers_for(settings_for(server.url, extra)) as providers:
                inputs: Any = {"question": "It says PASS", "text": "PASS"}
                request = Request("r", "loop[1]/:judge", "judge", inputs, key="k")
                kind = providers.kind("judge")
                return await kind.perform(request, quiet), kind.estimate(request), server.seen

    reply, estimate, seen = asyncio.run(main())
    assert (reply.value["verdict"], reply.value["answer"]) == (verdict, said)
    assert len(seen) == 1
    assert seen[0].json["model"] == "wise"
    assert seen[0].json["temperature"] == 0
    assert [m["role"] for m in seen[0].json["messages"]] == ["system", "user", "user", "user"]
    assert estimate.tokens < 400


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
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion(f"NO {seen.json['model']}"))

    async def main() -> Any:
        async with serve(answer) as server:
            extra = {"defaults": {"provider": "one", "model": "m", "judge_model": operator}}
            async with providers_for(settings_for(server.url, extra)) as providers:
                given = {"question": "q", "text": "t", **inputs}
                request = Request("r", "l[1]/:judge", "judge", given)
                return (await providers.kind("judge").perform(request, quiet)).value

    assert asyncio.run(main())["answer"] == f"NO {expected}"


@pytest.mark.parametrize(
    "inputs",
    [
        {"prompt": None},
        {"temperature": "hot"},
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"messages": [{"role": "boss", "content": "x"}]},
        {"tools": ["search"]},
    ],
)
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    settings = scripted({"match": ".", "replies": ["x"]})

    (fault,) = say(settings, ask(**{"prompt": "p", **inputs}))

    assert fault.code == "P113"


def test_kinds_and_effects() -> None:
    async def main() -> None:
        async with providers_for(settings_for("https://x.example")) as providers:
            effects = {name: providers.effect(name) for name in ("ask", "judge", "http", "run")}
            assert effects == {
                "ask": "priced",
                "judge": "priced",
                "http": "outside",
                "run": "outside",
            }
            with pytest.raises(UsageError) as caught:
                providers.kind("aks")
            assert caught.value.code == "W022"
            assert "'ask'" in caught.value.help

    asyncio.run(main())


def test_what_a_server_elsewhere_refuses_is_not_learned_of_the_own_one() -> None:
    """A workflow file may name another address for a model; that one speaks for itself only."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path.startswith("/else") and "temperature" in seen.json:
            send(writer, {"error": {"message": "temperature is not supported"}}, status=400)
        else:
            send(writer, completion("ok"))

    async def main() -> list[Seen]:
        async with serve(answer) as server, providers_for(settings_for(server.url)) as providers:
            kind = providers.kind("ask")
            elsewhere = ask(temperature=0.1, model="m", model_url=f"{server.url}/else/v1")
            await kind.perform(elsewhere, lambda _: None)
            await kind.perform(ask(temperature=0.1, model="m"), lambda _: None)
            return server.seen

    seen = asyncio.run(main())
    assert ["temperature" in one.json for one in seen] == [True, False, True]


def test_a_provider_is_checked_with_its_key() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        good = seen.headers.get("authorization") == "Bearer secret-key-1"
        send(writer, {"data": []}, status=200 if good and seen.path == "/v1/models" else 401)

    async def main() -> list[Any]:
        async with serve(answer) as server:
            found = []
            for key in ("secret-key-1", "wrong-key-22", "env:NOPE"):
                settings = settings_for(server.url, api_key=key)
                async with providers_for(settings) as providers:
                    found.append(await providers.check_provider("one"))
            return found

    good, bad, unset = asyncio.run(main())
    assert good.ok
    assert not bad.ok
    assert "401" in bad.message
    assert "wrong-key-22" not in bad.message
    assert not unset.ok
    assert "NOPE" in unset.message
