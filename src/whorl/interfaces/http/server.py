"""The server: where it listens, and how it ends slow connections."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import signal
import socket
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from whorl.errors import UsageError
from whorl.interfaces.http.app import build_app
from whorl.interfaces.http.auth import HEAD_BYTES_MAX, LOOPBACK_NAMES, Audited, Auth
from whorl.interfaces.http.limits import Limits
from whorl.interfaces.http.operations import AccessLog
from whorl.interfaces.http.problems import Refusal, answer_for
from whorl.interfaces.http.state import ServerState, open_state
from whorl.runtimes.service.tables import Tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import FrameType

    from whorl.services.project import Project


HEAD_S = 15.0
KEEP_ALIVE_S = 15
CONNECTIONS_MAX = 1_000
# Of one address.
ADDRESS_MAX = 500
# How soon a thread that computes gives way to the event loop.
SWITCH_S = 0.001

_OPTIONS: dict[str, Any] = {
    "ws": "none",
    "lifespan": "off",
    "loop": "asyncio",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "date_header": False,
    "proxy_headers": False,
    "h11_max_incomplete_event_size": HEAD_BYTES_MAX,
    "timeout_keep_alive": KEEP_ALIVE_S,
    "timeout_graceful_shutdown": 3,
    # So many are accepted in a row: fewer than may be open, so that none is dropped unread.
    "backlog": 256,
}


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where a server listens, its token and its options."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    behind_proxy: bool = False
    edits: bool = False

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class Server(uvicorn.Server):
    """A server that ends its streams before it waits for connections to close.

    After the first signal it begins nothing new, lets running calls end and still answers requests.
    The second signal ends it at once.
    """

    def __init__(
        self, config: uvicorn.Config, state: ServerState, sock: socket.socket, drain_s: float
    ) -> None:
        super().__init__(config)
        self._state = state
        self.has_new_store = state.store.is_new
        self._sock = sock
        self._drain_s = drain_s

    async def answer(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.serve(sockets=[self._sock])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
            self._loop.call_soon_threadsafe(self._state.runtime.stop)
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ends the server in order on the first signal; uvicorn's handler would kill it first."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, receiver in before.items():
                signal.signal(number, receiver)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Until running calls have ended, clients can watch and cancel their runs.
        await self._state.driving.drain(self._drain_s)
        self._state.watcher.end()
        await super().shutdown(sockets)


class Connection(H11Protocol):
    """A connection that has to send its request head within a time, once it has begun to.

    If there are too many, one without an open request gives way to the newest.
    """

    address_max = ADDRESS_MAX
    _alarm: asyncio.TimerHandle | None = None
    _is_dropped = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._began = self.loop.time()
        self._arm()
        everybody: Any = self.connections
        kept: list[Connection] = [one for one in everybody if not one._is_dropped]
        own = [one for one in kept if (one.client or "")[:1] == (self.client or "")[:1]]
        if len(own) > self.address_max:
            self._make_room(own)
        elif len(kept) > CONNECTIONS_MAX:
            self._make_room(kept)

    def _make_room(self, among: list[Connection]) -> None:
        """Drops the oldest connection without a whole head, or else one without a request."""
        # A whole request that is still to be answered is answered.
        idle = (h11.IDLE, h11.SEND_BODY, h11.ERROR)
        waiting = [one for one in among if one is not self
                   and (one.conn.their_state in idle or one.transport.is_closing())]  # fmt: skip
        least = min(waiting, key=lambda one: (one._alarm is None, one._began), default=self)
        least._is_dropped = True
        least.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Measures the time from the first byte of a request to the end of its head."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._arm()
        else:
            self._disarm()

    def send_400_response(self, msg: str) -> None:
        """Answers a request that is not valid HTTP in the shape of all faults."""
        answer = answer_for(Refusal(400, "W900", "this is not a valid HTTP request"))
        headers = [*answer.raw_headers, (b"connection", b"close")]
        head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        if self._alarm is None and not self.transport.is_closing():
            self._alarm = self.loop.call_later(HEAD_S, self._give_up)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _give_up(self) -> None:
        self._alarm = None
        if self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE:
            self.transport.abort()


class ProxiedConnection(Connection):
    """A connection from a proxy, as all others are."""

    address_max = CONNECTIONS_MAX


@asynccontextmanager
async def serving(
    project: Project, place: ListenOptions, drain_s: float | None = None
) -> AsyncIterator[tuple[Server, str]]:
    """Runs a server and yields it with its address; `drain_s` replaces the configured one."""
    sock = listen(place.host, place.port)
    port = int(sock.getsockname()[1])
    try:
        async with open_state(project, edits=place.edits) as state:
            hosts = frozenset(LOOPBACK_NAMES)
            if not place.is_loopback:
                # The connection knows the server's own addresses.
                hosts |= {place.host.lower(), socket.gethostname().lower()}
            routed = build_app(state)
            for route in routed.routes:
                # They are made when they are first asked, which takes a tenth of a second.
                route.matches({"type": "http", "method": "GET", "path": "/"})
            limited = Limits(Audited(routed, state.audit), tuple(state.providers.secrets))
            state.runtime.url = state.providers.settings.server.url or _address_of(place.host, port)
            signed = (state.is_signed, Tokens(state.store))
            app = Auth(limited, place.token, port, hosts, place.behind_proxy, *signed)
            kind = ProxiedConnection if place.behind_proxy else Connection
            config = uvicorn.Config(AccessLog(app), http=kind, **_OPTIONS)
            usual = state.providers.settings.server.drain_s
            drain = usual if drain_s is None else drain_s
            with _no_long_pauses():
                yield Server(config, state, sock, drain), _address_of(place.host, port)
    finally:
        sock.close()


@contextmanager
def _no_long_pauses() -> Iterator[None]:
    """Lets threads switch often, and exempts objects that stay from garbage collection."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    # A program that has done so already keeps it; looking through all it has takes long.
    is_ours = not gc.get_freeze_count()
    if is_ours:
        gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()
        sys.setswitchinterval(interval)


def check_place(place: ListenOptions) -> list[str]:
    if place.is_loopback:
        return []
    if not place.token:
        raise UsageError(
            f"{place.host!r} can be reached from other machines, so a token is needed",
            help="write at least 128 random bits to a file (`openssl rand -hex 32 > token`) and "
            "give it as --token-file; or listen on 127.0.0.1",
            code="W906",
        )
    if place.behind_proxy:
        return []
    return [
        f"{place.host} can be reached from other machines, and the connection is not encrypted: "
        "others on the network can read the token; put a proxy with TLS in front and give "
        "--behind-proxy"
    ]


def listen(host: str, port: int) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        sock = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "a name has at most 63 characters"
        raise UsageError(f"{host!r} is not an address to listen at: {why}") from fault
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(1_024)
    except OSError as fault:
        sock.close()
        words = f"cannot listen at {host}:{port}: {fault.strerror}"
        raise UsageError(words, help="another port: --port 0 takes any that is free") from fault
    return sock


def _address_of(host: str, port: int) -> str:
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if number.is_unspecified:
        host = "127.0.0.1" if number.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
