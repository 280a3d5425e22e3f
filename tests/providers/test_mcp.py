"""Tools of real MCP servers: programs and addresses, their results, faults, limits and ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, is_running, providers_for, say, say_at

from waiting import wait_until
from whorl.errors import ProviderError
from whorl.providers.processes import ServerErrors
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

if TYPE_CHECKING:
    from whorl.providers.settings import Settings


pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
anyio = pytest.importorskip("anyio")
transports = pytest.importorskip("whorl.providers.tools.transports")

PROGRAM = [sys.executable, str(Path(__file__).parent / "tool_server.py")]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "TOKEN_OF_OURS": "a-secret-token"}


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that do not end by themselves are ended soon."""
    monkeypatch.setattr("whorl.providers.processes.GRACE_S", 0.2)


def settings(leave: Any = True, **server: Any) -> Settings:
    table = {"allow": {"commands": leave}, "mcp": {"t": {"command": PROGRAM} | server}}
    return settings_from(table, ENVIRONMENT)


def python(code: str) -> dict[str, Any]:
    return {"command": [sys.executable, "-c", code]}


def tool(
    called: str, /, *, run: str = "r", timeout_s: float | None = None, **arguments: Any
) -> Request:
    inputs: Any = {"server": "t", "tool": called, "arguments": arguments}
    return Request(run, "step", "tool", inputs, timeout_s=timeout_s)


def calls(settings: Settings, *requests: Request) -> list[Any]:
    """The value of each call, or its error."""
    found = say(settings, *requests)
    return [one if isinstance(one, ProviderError) else one.value for one in found]


def test_results_have_their_types_and_one_session_serves_all() -> None:
    found = calls(
        settings(),
        tool("add", first=1, second=2),
        tool("shout", text="hi"),
        tool("describe", name="Bo"),
        tool("number"),
        tool("number", run="other"),
    )

    assert found[:3] == [3, "HI", {"name": "Bo", "kind": "person"}]
    assert found[3] == found[4]


def test_errors_say_whose_they_are() -> None:
    failed, unknown, near, wrong, late = calls(
        settings(),
        tool("fail", why="because"),
        tool("nothing-like-it"),
        tool("shoud"),
        tool("add", first="x"),
        tool("sleep", seconds=30.0, timeout_s=0.3),
    )

    assert (failed.code, failed.retryable) == ("P123", False)
    assert "tool 'fail' of MCP server 't'" in str(failed)
    assert unknown.code == near.code == "P121"
    assert "did you mean 'shout'" in str(near)
    assert wrong.code == "P123"
    assert (late.code, late.retryable) == ("P108", True)


def test_what_the_program_sees_of_our_environment() -> None:
    wanted = ("PATH", "OWN", "TOKEN", "TOKEN_OF_OURS", "USER", "NONE")
    given = settings(env={"OWN": "plain", "TOKEN": "env:TOKEN_OF_OURS", "NONE": "env:NOWHERE"})

    found = calls(given, *(tool("variable", name=name) for name in wanted))

    assert found == ["/usr/bin:/bin", "plain", "a-secret-token", "(unset)", "(unset)", "(unset)"]
    assert "a-secret-token" in [secret.reveal() for secret in given.secrets()]


def test_a_server_that_ends_is_started_again() -> None:
    before, lost, after = calls(settings(), tool("number"), tool("leave"), tool("number"))

    assert (lost.code, lost.retryable) == ("P101", True)
    assert "leaving now" in str(lost)
    assert isinstance(after, int)
    assert before != after


def test_nothing_of_a_server_is_left() -> None:
    numbers = calls(settings(), tool("number"), tool("start_child"))

    # A signal takes a moment to arrive.
    wait_until(lambda: not any(map(is_running, numbers)))


def test_a_description_is_sent_as_a_whole_or_the_tool_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whorl.providers.tools.servers.DESCRIPTION_MAX", 3)
    (refused,) = calls(settings(), tool("shout", text="a"))

    assert refused.code == "P120"
    assert "characters, more than 3; list the tools that are needed" in str(refused)


@pytest.mark.threat(row="T21")
def test_a_tool_that_changes_its_description_is_refused_in_that_run_only() -> None:
    first, turned, refused, other = calls(
        settings(),
        tool("shout", text="a"),
        tool("turn_coat"),
        tool("shout", text="b"),
        tool("shout", text="c", run="a new run"),
    )

    assert (first, turned, other) == ("A", "done", "C")
    assert refused.code == "P122"
    assert "'shout'" in str(refused)


@pytest.mark.threat(row="T21")
def test_a_tool_that_is_added_in_the_middle_of_a_run_is_not_used_in_it() -> None:
    grown, after, evil, other = calls(
        settings(),
        tool("grow"),
        tool("shout", text="a"),
        tool("evil"),
        tool("shout", text="b", run="other"),
    )
    named = calls(settings(tools=["grow", "shout"]), tool("grow"), tool("shout", text="a"))

    assert grown == "done"
    assert after.code == evil.code == "P122"
    assert "tool 'evil' of MCP server 't' was added since this run began" in str(after)
    assert other == "B"
    assert named == ["done", "A"]


@pytest.mark.threat(row="T21")
def test_the_pin_that_the_journal_holds_is_checked() -> None:
    request = tool("shout", text="a")
    request.inputs["pin"] = "0" * 16

    (fault,) = calls(settings(), request)

    assert fault.code == "P122"


@pytest.mark.threat(row="T21")
def test_only_allowed_tools() -> None:
    allowed, refused = calls(
        settings(tools=["add"]), tool("add", first=1, second=1), tool("shout", text="a")
    )

    assert allowed == 2
    assert refused.code == "P121"
    assert "[mcp.t]" in str(refused)


FLOOD = "import sys\nwhile True: sys.stdout.write('x' * 1_000_000)"


@pytest.mark.parametrize(
    ("server", "code", "words"),
    [
        ({"command": ["/nowhere/at-all"]}, "P120", "cannot be started"),
        ({"command": ["false"]}, "P120", "cannot be used"),
        (python("import sys; sys.exit('no luck today')"), "P120", "no luck today"),
        (python("import sys; sys.exit('x' * 301)"), "P120", f"it said: {'x' * 300}…"),
        (python("print('not JSON', flush=True)"), "P120", "cannot be used"),
        (python(FLOOD), "P120", ""),
        ({"command": ["sleep", "3600"], "timeout_s": 0.3}, "P108", ""),
    ],
)
def test_a_program_that_is_no_server(server: dict[str, Any], code: str, words: str) -> None:
    (fault,) = calls(settings(**server), tool("number"))

    assert fault.code == code
    assert fault.retryable or code != "P108"
    assert words in str(fault)


def test_an_answer_that_is_too_long_says_so_and_is_no_call_in_doubt() -> None:
    fault, after = calls(
        settings(), tool("shout", text="x" * 11_000_000), tool("add", first=1, second=2)
    )

    assert (fault.code, fault.retryable, fault.answered) == ("P106", False, True)
    assert "MCP server 't' failed: it answered with more than 10,000,000 bytes" in str(fault)
    assert after == 3


def test_many_notifications_are_ignored_and_block_nothing() -> None:
    """All of it is there at once, so a reader that only reads would never give way."""
    from mcp.shared.message import SessionMessage

    news = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n'
    answer = b'{"jsonrpc": "2.0", "id": 7, "result": {}}\n'

    async def main() -> tuple[list[Any], int]:
        lines = asyncio.StreamReader()
        lines.feed_data(news * 5 * transports.NEWS_AT_ONCE + answer)
        lines.feed_eof()
        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](9)
        reading = asyncio.create_task(transports._read(lines, received, ServerErrors()))
        turns = 0
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
        with incoming:
            return [message async for message in incoming], turns

    messages, turns = asyncio.run(main())
    assert [message.message.id for message in messages] == [7]
    assert turns > 5


def test_calls_at_the_same_time_share_a_session() -> None:
    async def main() -> list[Any]:
        async with providers_for(settings()) as providers:
            use = providers.kind("tool").perform
            requests = (tool("add", first=n, second=n) for n in range(20))
            return await asyncio.gather(*(use(request, print) for request in requests))

    assert [reply.value for reply in asyncio.run(main())] == [2 * n for n in range(20)]


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_address_that_is_no_server(status: int) -> None:
    def at(url: str) -> Settings:
        server = {"url": f"{url}/mcp", "headers": {"x-key": "key-of-it"}}
        return settings_from({"mcp": {"t": server}}, {})

    (fault,), seen = say_at(answering({"error": "no"}, status=status), at, tool("number"))

    assert (fault.code, fault.retryable) == ("P120", status == 500)
    assert f"gave status {status}" in str(fault)
    assert "key-of-it" not in str(fault)
    assert seen[0].headers["x-key"] == "key-of-it"
