"""Connects to checked addresses only: the check and the connection use the very same address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeAlias

import httpcore2

from whorl.providers.outbound.addresses import Policy, literal_of

CONNECTIONS_MAX = 500
IDLE_MAX = 400
KEEP_S = 15.0

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]


async def resolve_by_system(host: str, port: int) -> list[str]:
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections for one scheme.

    It sits below the connection pool, so every request, redirect and reused connection passes it.
    The pool still knows the host by name for TLS and for the Host header.
    """

    def __init__(self, scheme: str, policy: Policy, resolve: Resolve) -> None:
        self._scheme = scheme
        self._policy = policy
        self._resolve = resolve
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolves, checks every address, and connects to the first that answers."""
        self._policy.check_host(self._scheme, host, port)
        literal = literal_of(host)
        try:
            addresses = [str(literal)] if literal else await self._resolve(host, port)
        except OSError as cause:
            raise httpcore2.ConnectError(f"the name {host!r} does not resolve: {cause}") from cause
        self._policy.check(self._scheme, host, port, addresses)
        failure: httpcore2.NetworkError | httpcore2.TimeoutException | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as cause:
                failure = cause
        raise failure or httpcore2.ConnectError(f"{host} has no address")


class Connections:
    """The connections of one scheme, each kept for the next request to the same origin.

    Finding one takes constant time. The library's pool checks all connections for each request.
    """

    def __init__(self, scheme: str, policy: Policy, resolve: Resolve) -> None:
        self._backend = CheckedBackend(scheme, policy, resolve)
        self._trust = httpcore2.default_ssl_context() if scheme == "https" else None
        self._room = asyncio.Semaphore(CONNECTIONS_MAX)
        self._idle: dict[str, list[httpcore2.AsyncHTTPConnection]] = {}
        self._idle_count = 0

    @asynccontextmanager
    async def send(self, request: httpcore2.Request) -> AsyncIterator[httpcore2.Response]:
        """Sends a request; keeps a reusable connection after the caller has used the reply."""
        origin = request.url.origin
        async with self._room:
            connection = await self._kept(origin) or httpcore2.AsyncHTTPConnection(
                origin,
                ssl_context=self._trust,
                keepalive_expiry=KEEP_S,
                network_backend=self._backend,
            )
            try:
                response = await connection.handle_async_request(request)
                try:
                    yield response
                finally:
                    await response.aclose()
            finally:
                await self._give_back(origin, connection)

    async def _give_back(
        self, origin: httpcore2.Origin, connection: httpcore2.AsyncHTTPConnection
    ) -> None:
        if connection.is_idle() and not connection.is_closed() and self._idle_count < IDLE_MAX:
            self._idle.setdefault(str(origin), []).append(connection)
            self._idle_count += 1
        else:
            await connection.aclose()

    async def _kept(self, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection | None:
        kept = self._idle.get(str(origin), [])
        while kept:
            connection = kept.pop()
            self._idle_count -= 1
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def aclose(self) -> None:
        closing = [connection for kept in self._idle.values() for connection in kept]
        self._idle, self._idle_count = {}, 0
        for connection in closing:
            await connection.aclose()
