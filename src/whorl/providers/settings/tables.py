"""The keys of whorl.toml and their readers; errors name a wrong key with its place."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from whorl.errors import UsageError, did_you_mean
from whorl.ir.values import parse_duration
from whorl.lazily import regex
from whorl.providers.json_values import shorten
from whorl.providers.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.providers.settings import Headers

    Environment = Mapping[str, str]

# The keys of whorl.toml: a row for each, with what it holds. By them it is read and checked.
#
# A name in capitals stands for names that the operator chooses.

_ROWS = """
defaults.provider        text      the provider, if a step names none
defaults.model           text      the model, if a step names none
defaults.judge_model     text      the model of judges: provider/model
providers.NAME.kind      kind      the format that it speaks
providers.NAME.base_url  text      its address, if it is not the well-known one
providers.NAME.model     text      the model that it is asked for by default
providers.NAME.api_key   text      the key, or env:VARIABLE
providers.NAME.max_concurrent  whole  how many calls may run at the same time
providers.NAME.requests_per_minute  whole  how many calls it accepts
providers.NAME.tokens_per_minute  whole  how many tokens it accepts
providers.NAME.threads   whole     processor threads of the embedded model
providers.NAME.answer_tokens  whole  tokens to reserve for an answer without a limit; default 1024
providers.NAME.timeout_s  number   the longest time of a call; default 600
providers.NAME.headers  headers  what is sent with every call
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
mcp.NAME.headers  headers  what is sent to its address
mcp.NAME.tools           texts     the only tools that are offered
mcp.NAME.timeout_s       number    the longest time of a call; default 60
agents.NAME.kind         text      claude-code, codex, gemini or text
agents.NAME.program      text      what is started
agents.NAME.model        text      the model that it uses
agents.NAME.flags        texts     what it is started with
agents.NAME.skip_permissions  truth  whether it works without asking for permission
agents.NAME.env          texts_by_name  variables of its environment
agents.NAME.timeout_s    number    the longest time of a call; default 3600
keys.NAME.url            text      the host that the key is sent to, and no other
keys.NAME.token          text      sent as a bearer token; env:VARIABLE
keys.NAME.username       text      for basic authentication
keys.NAME.password       text      for basic authentication; env:VARIABLE
keys.NAME.headers  headers  sent as they are; env:VARIABLE
connectors.url           url       the address that answers for connectors
connectors.replies       any       recorded replies: a file, or a table by action
limits.iterations        whole     for loops without a limit
limits.time              duration  for loops without a limit
limits.cpu               duration  how long a run may compute
notify.url               text      where notifications about runs are sent
notify.headers  headers  headers of the notifications
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


@cache
def rows() -> list[tuple[tuple[str, ...], str, str]]:
    """Returns the keys with their kinds and descriptions."""
    lines = [line.split(None, 2) for line in _ROWS.strip().splitlines()]
    return [(tuple(key.split(".")), kind, doc) for key, kind, doc in lines]


@cache
def keys_of(table: str) -> dict[str, str]:
    """Returns the keys of a table such as `mcp.NAME`, each with its kind."""
    place = tuple(table.split(".")) if table else ()
    depth = len(place)
    below = [(keys[depth:], kind) for keys, kind, _ in rows() if keys[:depth] == place]
    return {keys[0]: kind if len(keys) == 1 else "table" for keys, kind in below}


T = TypeVar("T")
# Text behind the first of these marks is never part of the host.
_ADDRESS = regex(r"(?s)(?P<scheme>(?:[^:/?#\\]*:)?(?://)?)(?P<place>[^/?#\\]*)(?P<path>.*)")
_PATH_SHOWN_MAX = 1_000
WEB_ADDRESS = "'https://api.example.com/v1', without a user or password"
_DURATION_MAX_S = 86_400.0
# A number alone would be seconds, which is never meant for keeping runs.
_BARE = regex(r"[0-9.]*")
_SIZE = regex(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]B)", re.IGNORECASE)
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
REFERENCE = "docs/reference/configuration.md has every section and its keys"
_TYPES: dict[type, str] = {str: "a text", bool: "true or false", list: "a list", dict: "a table"}
_TYPES |= dict.fromkeys((int, float), "a number")


class Table:
    """One table, with the keys of the rows `named`; `place` names it in errors. Raises W901.

    `environment` is for `env:NAME`.
    """

    def __init__(
        self, value: object, place: str, named: str, environment: Environment | None = None
    ) -> None:
        if not isinstance(value, dict):
            refuse(f"{place} must be a table, not {type_name(value)}")
        self.values: dict[str, object] = value
        self.place = place
        self.environment = environment or {}
        self._kinds = keys_of(named)
        for key in value if "NAME" not in self._kinds else ():
            if key not in self._kinds:
                near = did_you_mean(key, self._kinds) or f"known: {', '.join(self._kinds)}"
                raise UsageError(f"{place} has no {key!r}", help=near, code="W901")

    def read(self) -> dict[str, Any]:
        """Returns the values of the table, without empty texts."""
        read = {key: self.one(key) for key in self._kinds if key in self.values}
        return {key: value for key, value in read.items() if value not in ("", None)}

    def one(self, key: str) -> Any:
        kind = self._kinds.get(key) or self._kinds["NAME"]
        return _READERS[kind](self, key) if kind in _READERS else self.values[key]

    def typed(self, key: str, kind: type[T], default: T) -> T:
        value = self.values.get(key, default)
        if not isinstance(value, kind):
            refuse(f"{self.place} {key} must be {_TYPES[kind]}, not {type_name(value)}")
        return value

    def text(self, key: str) -> str:
        return self.typed(key, str, "")

    def count(self, key: str) -> int:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(f"{self.place} {key} must be a whole number of at least 1, not {value!r}")
        return value

    def number(self, key: str) -> float:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            refuse(f"{self.place} {key} must be a number of at least 0, not {value!r}")
        return float(value)

    def duration(self, key: str, *, least: float = 1e-9) -> float:
        seconds = _seconds(self.values[key])
        if seconds is None or not least <= seconds <= _DURATION_MAX_S:
            wanted = "a duration up to '24h', such as '20s'"
            refuse(f"{self.place} {key} must be {wanted}, not {self.values[key]!r}")
        return seconds

    def age(self, key: str) -> float:
        age = self.values[key]
        seconds = _seconds(age)
        if not isinstance(age, str) or _BARE.fullmatch(age.strip()) or seconds is None:
            refuse(f"{self.place} {key} must be a time such as '30d' or '12h', not {age!r}")
        return seconds

    def size(self, key: str) -> int:
        size = self.values[key]
        parts = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
        if parts is None:
            refuse(f"{self.place} {key} must be a size such as '500MB' or '5GB', not {size!r}")
        return int(float(parts[1]) * _UNITS[parts[2].upper()])

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values[key]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            refuse(f"{self.place} {key} must be a list of texts, not {type_name(value)}")
        return tuple(value)

    def permission(self, key: str) -> bool | tuple[str, ...]:
        value = self.values[key]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if not isinstance(value, bool):
            wanted = "true, false or a list of texts"
            refuse(f"{self.place} {key} must be {wanted}, not {type_name(value)}")
        return value

    def resolved(self, key: str) -> str:
        return resolve(self.text(key), self.environment)

    def secret(self, key: str) -> Secret | None:
        text = self.resolved(key)
        if self.text(key) and not text:
            variable = self.text(key)[4:]
            refuse(f"{self.place} {key} names the variable {variable!r}, which is not set")
        return Secret(text) if text else None

    def web_address(self, key: str, url: str) -> str:
        if url and not is_web_address(url):
            example = f"a web address such as {WEB_ADDRESS}"
            refuse(f"{self.place} {key} must be {example}, not {shown_url(url)}")
        return url

    def headers(self, key: str) -> Headers:
        """Returns the headers; each may hold a credential, so all are secrets."""
        texts = self.texts_by_name(key)
        return tuple((n, Secret(resolve(text, self.environment))) for n, text in texts.items())

    def texts_by_name(self, key: str) -> dict[str, str]:
        inner = self.typed(key, dict, {})
        for name, text in inner.items():
            if not isinstance(text, str):
                refuse(f"{self.place} {key}.{name} must be a text")
        return inner


_READERS: dict[str, Callable[[Table, str], object]] = {
    "age": Table.age,
    "duration": Table.duration,
    "headers": Table.headers,
    "kind": Table.text,
    "number": Table.number,
    "pause": lambda table, key: table.duration(key, least=0.0),
    "permission": Table.permission,
    "runtime": Table.text,
    "secret": Table.secret,
    "size": Table.size,
    "text": Table.text,
    "texts": Table.texts,
    "texts_by_name": Table.texts_by_name,
    "truth": lambda table, key: table.typed(key, bool, False),
    "url": lambda table, key: table.web_address(key, table.text(key)),
    "whole": Table.count,
}


def _seconds(duration: object) -> float | None:
    try:
        return parse_duration(duration) if isinstance(duration, str | int | float) else None
    except ValueError:
        return None


def type_name(value: object) -> str:
    """Returns the type of a wrong value, without the value, which may be a secret."""
    return _TYPES.get(type(value), "a value of another kind")


def shown_url(url: str) -> str:
    """Returns an address for display: without name and password, query and fragment.

    A person decides by it who gets a key, so it shows the whole host that is connected to.
    """
    match = _ADDRESS.fullmatch(url)
    assert match is not None
    host = match["place"].rpartition("@")[2].encode("ascii", "backslashreplace").decode()
    path = match["path"].partition("?")[0].partition("#")[0]
    if not host:
        # It is no address, but may have a password.
        path = path.rpartition("@")[2]
    return repr(f"{match['scheme']}{host}{shorten(path, _PATH_SHOWN_MAX)}").replace(r"\\u", r"\u")


def refuse(message: str) -> NoReturn:
    raise UsageError(message, code="W901", help=REFERENCE)


def resolve(text: str, environment: Mapping[str, str]) -> str:
    return variable_of(text[4:].strip(), environment) if text.startswith("env:") else text


def variable_of(name: str, environment: Mapping[str, str]) -> str:
    """Returns the text of a variable, or "" if it is missing or has only spaces."""
    text = environment.get(name, "")
    return text if text.strip() else ""


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_valid_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    has_plain_host = has_valid_port and bool(parts.hostname) and "@" not in parts.netloc
    return has_plain_host and parts.scheme in ("http", "https")
