"""The tasks `memory` (texts kept from run to run, found by their words) and `validate`."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.language.schema import fit
from whorl.providers.context import Memories, OwnTask
from whorl.providers.json_values import NotJson, clean, parse_json, table_of
from whorl.providers.task import Effect, Emit, Inputs, Reply, Request

if TYPE_CHECKING:
    from whorl.language import Json

KEPT_MAX = 1_000
FOUND_MAX = 100
USUAL_FOUND = 5
CONTENT_MAX = 100_000

_WORD = re.compile(r"\w{2,}")
# Words that say nothing about what a text is about.
_COMMON = frozenset(
    (
        *("an", "and", "any", "are", "as", "at", "be", "by", "do", "for", "from", "has", "have"),
        *("how", "if", "in", "into", "is", "it", "its", "not", "of", "on", "or", "that", "the"),
        *("this", "to", "was", "were", "what", "when", "which", "who", "will", "with", "you"),
        *("your",),
    )
)


class Memory(OwnTask):
    """Inputs: operation (read or write), namespace, query and limit, or content and metadata."""

    calls = 0

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("memory", request.inputs)
        memories = self._context.memories()
        if memories is None:
            raise ProviderError("there is no store that could remember anything", code="P114")
        operation, namespace = inputs.needed("operation"), inputs.needed("namespace")
        done: dict[str, Json] = {"status": "success", "operation": operation}
        done["namespace"] = namespace
        if operation == "write":
            await _write(memories, namespace, inputs, request)
            return Reply(done | {"memory_key": request.key})
        if operation != "read":
            inputs.refuse("operation", f"must be read or write, not {operation!r}")
        query = inputs.text("query")
        limit = min(inputs.count("limit") or USUAL_FOUND, FOUND_MAX)
        matches = search(memories.memory(key_of(namespace)), query)[:limit]
        return Reply(done | {"query": query, "memories": [*matches], "num_results": len(matches)})


def key_of(namespace: str) -> str:
    return f"memory/{namespace}"


async def _write(memories: Memories, namespace: str, inputs: Inputs, request: Request) -> None:
    content = clean(inputs.text("content"))
    if len(content) > CONTENT_MAX:
        inputs.refuse("content", f"has {len(content)} characters, more than {CONTENT_MAX}")
    record: dict[str, Json] = {"id": request.key, "content": content}
    record |= {"metadata": inputs.table("metadata"), "run": request.run}
    kept = {name: request.redacted(value) for name, value in record.items()}
    # A write that is repeated after a crash adds nothing.
    await memories.remember(key_of(namespace), kept, once=request.key, keep=KEPT_MAX)


def search(records: list[Json], query: str) -> list[dict[str, Json]]:
    """The records that share words with a query, the best first and then the newest."""
    wanted = _words(query)
    matches: list[tuple[float, int, dict[str, Json]]] = []
    for age, record in enumerate(reversed(records)):
        fields = record if isinstance(record, dict) else {"content": record}
        content, metadata = fields.get("content"), fields.get("metadata")
        words = _words(f"{content} {metadata or ''}")
        alike = len(wanted & words) / len(wanted) if wanted else 0.0
        if alike > 0 or not wanted:
            shown: dict[str, Json] = {"content": content, "metadata": metadata}
            matches.append((-alike, age, shown | {"similarity": round(alike, 4)}))
    return [shown for _, _, shown in sorted(matches, key=lambda match: match[:2])]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON


class Validate(OwnTask):
    """Inputs: value (a text may hold JSON), schema. The value is `{valid, data, errors}`."""

    effect: Effect = "none"
    calls = 0

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("validate", request.inputs)
        schema, value = inputs.get("schema"), inputs.get("value")
        if isinstance(value, str) and table_of(schema).get("type") != "string":
            with suppress(NotJson):
                value = parse_json(value)
        data, faults = fit(schema, value)
        return Reply({"valid": not faults, "data": data, "errors": [*faults]})
