"""A real HTTP server for the tests of providers: it answers with the bytes that it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import Policy
from whorl.providers.outbound.client import Outbound
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

if TYPE_CHECKING:
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import Settings


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


T = TypeVar("T")
Answerer = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """The server's port and everything that it was sent."""

    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serve(answer: Answerer) -> AsyncIterator[Server]:
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    seen = await _read(reader)
                    server.seen.append(seen)
                    await answer(seen, writer)
                    await writer.drain()
                    if writer.is_closing():
                        break
        finally:
            writer.close()
            tasks.discard(task)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1000)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listening.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, path, headers, body)


def send(
    writer: asyncio.StreamWriter,
    body: Any = b"",
    *,
    status: int = 200,
    kind: str = "application/json",
    **headers: str,
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)


def answering(body: Any = b"", **options: Any) -> Answerer:
    """Answers every request with the same."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, body, **options)

    return answer


async def hang(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    await asyncio.Event().wait()


def begin(
    writer: asyncio.StreamWriter, *, kind: str = "text/event-stream", extra: str = ""
) -> None:
    """Begins a chunked reply."""
    writer.write(
        f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{extra}"
        "transfer-encoding: chunked\r\n\r\n".encode()
    )


def chunk(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")


def events(*payloads: Any, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(payload)}\n\n" for payload in payloads]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def piece(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An event of a stream of OpenAI's format."""
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "served"}
    return {**whole, "choices": [{"index": 0} | choice for choice in choices], **more}


def delta(text: str, finish: str | None = None) -> dict[str, Any]:
    return piece({"delta": {"content": text}, "finish_reason": finish})


def completion(
    text: str | None, prompt_tokens: int = 7, completion_tokens: int = 3, **choice: Any
) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", **choice}]
    return {**whole, "choices": choices, "usage": usage | {"total_tokens": 10}}


def settings_for(url: str, extra: dict[str, Any] | None = None, **provider: Any) -> Settings:
    table: dict[str, Any] = {
        "defaults": {"provider": "one", "model": "m"},
        "providers": {
            "one": {"kind": "openai", "base_url": f"{url}/v1", "api_key": "secret-key-1"} | provider
        },
    }
    for name, section in (extra or {}).items():
        table[name] = {**table.get(name, {}), **section}
    return settings_from(table, {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})


def ask(prompt: str = "Hello", **inputs: Any) -> Request:
    returns, repair = inputs.pop("returns", None), inputs.pop("repair", None)
    timeout_s = inputs.pop("timeout_s", None)
    given = {"prompt": prompt, **inputs}
    options = {"returns": returns, "repair": repair, "timeout_s": timeout_s}
    return Request("r1", "step", "ask", given, key="k1", **options)


@asynccontextmanager
async def providers_for(settings: Settings, **options: Any) -> AsyncIterator[Providers]:
    providers = Providers(settings, **options)
    try:
        yield providers
    finally:
        await providers.close()


def scripted(*rules: dict[str, Any]) -> Settings:
    table = {"providers": {"s": {"kind": "scripted", "replies": list(rules), "model": "m"}}}
    return settings_from(table, {})


async def said_by(settings: Settings, *requests: Request, **options: Any) -> list[Any]:
    """The reply to each request, or its error."""
    found: list[Any] = []
    async with providers_for(settings, **options) as providers:
        for request in requests:
            try:
                found.append(await providers.kind(request.kind).perform(request, lambda _: None))
            except ProviderError as fault:
                found.append(fault)
    return found


def say(settings: Settings, *requests: Request, **options: Any) -> list[Any]:
    return asyncio.run(said_by(settings, *requests, **options))


def say_at(
    answer: Answerer, configure: Callable[[str], Settings], *requests: Request, **options: Any
) -> tuple[list[Any], list[Seen]]:
    """What a server that is configured by its address gives, and what it saw."""

    async def main() -> tuple[list[Any], list[Seen]]:
        async with serve(answer) as server:
            return await said_by(configure(server.url), *requests, **options), server.seen

    return asyncio.run(main())


def with_server(
    answer: Answerer,
    make: Callable[[Outbound, Server], Awaitable[T]],
    *,
    leave: bool = True,
    secrets: tuple[Secret, ...] = (),
) -> tuple[T, Server]:
    async def main() -> tuple[T, Server]:
        async with serve(answer) as server:

            async def resolve(host: str, port: int) -> list[str]:
                return ["127.0.0.1"]

            outbound = Outbound(Policy(private_network=leave), secrets=secrets, resolve=resolve)
            try:
                return await make(outbound, server), server
            finally:
                await outbound.close()

    return asyncio.run(main())
