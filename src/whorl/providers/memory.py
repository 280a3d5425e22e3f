"""The tasks `memory` (records that later runs find by their words) and `validate`."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from whorl.errors import ProviderError, StoreError
from whorl.language import LanguageError
from whorl.language.libraries import Amendment, open_library
from whorl.language.schema import fit
from whorl.plugins import load_reference
from whorl.providers.json_values import NotJson, clean, parse_json, table_of
from whorl.providers.task import Effect, Emit, Inputs, Memories, OwnTask, Reply, Request

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.language.libraries import Amend

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
    """Inputs: operation, namespace, and those of the operation.

    `read` has query and limit, `write` has content and metadata. `amend` changes the records with a
    function of a dialect: `library` and `change` name it, and `with` is its input, together with
    the `key` of the call.
    """

    calls = 0

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("memory", request.inputs)
        memories = self._context.memories()
        if memories is None:
            raise ProviderError("there is no store that can keep memories", code="P114")
        try:
            return await self._performed(memories, inputs, request)
        except StoreError as fault:
            words = f"{fault}; {fault.help}" if fault.help else str(fault)
            raise ProviderError(words, code=fault.code, retryable=True) from fault

    async def _performed(self, memories: Memories, inputs: Inputs, request: Request) -> Reply:
        operation, namespace = inputs.needed("operation"), inputs.needed("namespace")
        done: dict[str, Json] = {"status": "success", "operation": operation}
        done["namespace"] = namespace
        if operation == "write":
            await _write(memories, namespace, inputs, request)
            return Reply(done | {"memory_key": request.key})
        if operation == "amend":
            return await _amend(memories, namespace, inputs, request)
        if operation != "read":
            inputs.refuse("operation", f"must be read, write or amend, not {operation!r}")
        query = inputs.text("query")
        limit = min(inputs.count("limit") or USUAL_FOUND, FOUND_MAX)
        matches = search(await memories.memory_records(key_of(namespace)), query)[:limit]
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


async def _amend(memories: Memories, namespace: str, inputs: Inputs, request: Request) -> Reply:
    name, library = inputs.needed("change"), inputs.needed("library")
    try:
        reference = open_library(library).amendments.get(name)
    except LanguageError as fault:
        inputs.refuse("library", f"is {library!r}: {fault}")
    if reference is None:
        inputs.refuse("change", f"is {name!r}, which the library {library!r} does not have")
    function = cast("Amend", load_reference(reference))
    given = {**inputs.table("with"), "key": request.key}

    def change(records: list[Json]) -> Amendment:
        return amended(function, records, given, request)

    done = await memories.amend(key_of(namespace), change, keep=KEPT_MAX)
    warning: dict[str, Json] = {"code": "R113", "message": done.warning}
    return Reply(done.value, detail={"warnings": [warning]} if done.warning else {})


def amended(
    function: Amend, records: list[Json], given: dict[str, Json], request: Request
) -> Amendment:
    """Returns the amendment; a call that is repeated after a crash gives the same and adds nothing.

    For this, each record has the key of its call and the result of that.
    """
    before = (record for record in map(table_of, records) if record.get("by") == request.key)
    if (done := next(before, None)) is not None:
        return Amendment(done.get("gave"))
    made = function(records, given, time.time())
    if made.record is None:
        return made
    kept = {**made.record, "by": request.key, "gave": made.value, "run": request.run}
    return replace(made, record=table_of(request.redacted(kept)))


def search(records: list[Json], query: str) -> list[dict[str, Json]]:
    """Returns the records that share words with a query, the best first and then the newest."""
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
