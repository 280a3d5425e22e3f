"""The keys of whorl.toml: a row for each, with what it holds. By them it is read and checked.

A name in capitals stands for names that the operator chooses. The JSON Schema for editors is made
of the same rows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.language import Json

_ROWS = """
defaults.provider        text      the provider, if a step names none
defaults.model           text      the model, if a step names none
defaults.judge_model     text      the model of judges: provider/model
defaults.judge_reasons   truth     whether judges say why; default true
providers.NAME.kind      kind      the format that it speaks
providers.NAME.base_url  text      its address, if it is not the well-known one
providers.NAME.model     text      the model that it is asked for by default
providers.NAME.api_key   text      the key, or env:VARIABLE
providers.NAME.max_tokens_field  text  the name of its field for the limit of an answer
providers.NAME.max_concurrent  whole  how many calls may run at the same time
providers.NAME.requests_per_minute  whole  how many calls it accepts
providers.NAME.tokens_per_minute  whole  how many tokens it accepts
providers.NAME.threads   whole     processor threads of the embedded model
providers.NAME.answer_tokens  whole  tokens to reserve for an answer without a limit
providers.NAME.timeout_s  number   how long a call may take
providers.NAME.headers   headers    what is sent with every call
providers.NAME.structured  truth   whether it is sent the schema of an answer
providers.NAME.stream    truth     whether it streams
providers.NAME.keeps_max_tokens  truth  whether its answers never exceed the limit that is sent
providers.NAME.replies   any       what a scripted provider answers: {match, replies, by, exhaust}
prices.NAME.input        number    dollars for a million tokens that are read
prices.NAME.output       number    dollars for a million tokens that are written
allow.commands           permission  whether workflows run programs: all, none, or these
allow.private_network    permission  whether `http` steps reach private addresses: all, none, these
allow.hosts              texts     the only hosts that workflows call
allow.files.read         texts     patterns of the files that workflows read
allow.files.write        texts     patterns of the files that workflows write
tasks.NAME               text      python:module:function, or a URL
mcp.NAME.command         texts     the program that is the server, with its arguments
mcp.NAME.url             url       the address of a server that runs elsewhere
mcp.NAME.env             texts_by_name  variables of its environment
mcp.NAME.headers         headers    what is sent to its address
mcp.NAME.tools           texts     the only tools that are offered
mcp.NAME.timeout_s       number    how long a call may take
agents.NAME.kind         text      claude-code, codex, gemini or text
agents.NAME.program      text      what is started
agents.NAME.model        text      the model that it uses
agents.NAME.flags        texts     what it is started with
agents.NAME.skip_permissions  truth  whether it works without asking for permission
agents.NAME.env          texts_by_name  variables of its environment
agents.NAME.timeout_s    number    how long it may work
keys.NAME.url            text      the host that the key is sent to, and no other
keys.NAME.token          text      sent as a bearer token; env:VARIABLE
keys.NAME.username       text      for basic authentication
keys.NAME.password       text      for basic authentication; env:VARIABLE
keys.NAME.headers        headers    sent as they are; env:VARIABLE
connectors.url           url       the address that answers for connectors
connectors.replies       any       recorded replies: a file, or a table by action
limits.iterations        whole     for loops without a limit
limits.time              duration  for loops without a limit
limits.cpu               duration  how long a run may compute
notify.url               text      where notifications about runs are sent
notify.headers           headers    headers of the notifications
notify.on                texts     waiting, failed, ended
queue.NAME               whole     how many runs of a workflow run at once; "*": of any other
retention.older_than     age       ended runs that are older are deleted
retention.max_runs       whole     how many ended runs stay
retention.max_size       size      how large the store may be, such as 5GB
retention.audit          age       rows of the audit that are older are deleted
run.drain                pause     how long calls may take to end when a command is stopped
runtime.kind             runtime   where runs are driven
runtime.temporal.address  text     the address of the Temporal server
runtime.temporal.namespace  text   the namespace of the runs
runtime.temporal.queue   text      the name with which all task queues begin
runtime.temporal.tls     truth     whether the connection is encrypted
runtime.temporal.api_key  secret  env:VARIABLE
runtime.temporal.values  text      a shared folder, or s3://BUCKET/PREFIX, for large values
runtime.temporal.s3_endpoint  text  the address of the bucket's server; Amazon's without it
runtime.temporal.s3_region  text   the region of the bucket
runtime.temporal.s3_key  secret  env:VARIABLE; without it AWS_ACCESS_KEY_ID, or the machine's role
runtime.temporal.s3_secret  secret  env:VARIABLE; the secret that belongs to s3_key
runtime.temporal.encrypt_with  secret  env:VARIABLE; everything in Temporal is unreadable without it
runtime.temporal.heartbeat  duration  a call whose worker is silent for this long is in doubt
runtime.temporal.calls_at_once  whole  how many calls of a queue one worker makes at once
runtime.temporal.grace   duration  how long a worker that is told to stop waits for its calls
runtime.temporal.queues  texts_by_name  kinds of tasks that need a certain machine
server.drain             pause     how long calls may take to end when the server is stopped
server.max_concurrent    whole     how many runs it resumes by itself at the same time
server.url               url       its address for others
server.hooks_per_minute  whole     how many calls of one webhook it accepts
workflows.folders        texts     where workflows are looked for that others call by name
workflows.python         texts     workflows written in Python: module:name
"""
_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_KINDS: dict[str, dict[str, Json]] = {
    "age": {"type": "string"},
    "any": {},
    "duration": {"type": ["string", "number"]},
    "headers": {"type": "object", "additionalProperties": _TEXT},
    # Plugins bring other kinds of providers.
    "kind": {"type": "string", "examples": ["openai", "anthropic", "ollama", "local", "scripted"]},
    "number": {"type": "number", "minimum": 0},
    "pause": {"type": ["string", "number"]},
    "permission": {"anyOf": [{"type": "boolean"}, _TEXTS]},
    "runtime": {"enum": ["local", "temporal"]},
    "secret": {"type": "string"},
    "size": {"type": "string"},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": _TEXT},
    "texts_by_name": {"type": "object", "additionalProperties": _TEXT},
    "truth": {"type": "boolean"},
    "url": {"type": "string"},
    "whole": {"type": "integer", "minimum": 1},
}


@cache
def rows() -> list[tuple[tuple[str, ...], str, str]]:
    """The keys with what they hold and a line about it."""
    lines = [line.split(None, 2) for line in _ROWS.strip().splitlines()]
    return [(tuple(key.split(".")), kind, doc) for key, kind, doc in lines]


@cache
def keys_of(table: str) -> dict[str, str]:
    """The keys of a table such as `mcp.NAME`, each with what it holds."""
    place = tuple(table.split(".")) if table else ()
    depth = len(place)
    below = [(keys[depth:], kind) for keys, kind, _ in rows() if keys[:depth] == place]
    return {keys[0]: kind if len(keys) == 1 else "table" for keys, kind in below}


def settings_schema() -> dict[str, Json]:
    """The schema of a whorl.toml, draft 2020-12."""
    whole: dict[str, Any] = _table()
    for keys, kind, doc in rows():
        table = whole
        for key in keys[:-1]:
            table = _inner(table, key, _table)
        _inner(table, keys[-1], dict).update({"description": doc, **_KINDS[kind]})
    title = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": title, "title": "Whorl configuration", **whole}


def _table() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _inner(table: dict[str, Any], key: str, make: Any) -> dict[str, Any]:
    if key != "NAME":
        inner: dict[str, Any] = table["properties"].setdefault(key, make())
        return inner
    if table["additionalProperties"] is False:
        table["additionalProperties"] = make()
    named: dict[str, Any] = table["additionalProperties"]
    return named
