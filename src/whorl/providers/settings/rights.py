"""The rights in a whorl.toml: the entries that execute, send, read variables or delete.

One pass separates rights from the rest of a table, so that each right is both shown and removed.
The rest has no rights, and is used for an untrusted folder.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from whorl.ir.checks.commands import is_steering
from whorl.lazily import dataclass, regex
from whorl.providers.redaction import HIDDEN
from whorl.providers.settings import BROUGHT, YOURS
from whorl.providers.settings.sections import KNOWN_PROVIDERS
from whorl.providers.settings.tables import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


# The parts of a whorl.toml that stay hidden when its rights are shown.
#
# People write keys into the variables and arguments of programs, and into addresses. A hash of the
# hidden parts shows whether they have changed.

_NAMED = r"[\w.-]*(?:token|key|secret|passw|auth|credential|header)[\w.-]*"
# After one dash stand many options, of which one may run what follows: `bash -cauth ...`.
_OPTION = regex(rf"--{_NAMED}", re.IGNORECASE)
_GIVEN = regex(rf"(-{{0,2}}{_NAMED}=)(.+)", re.IGNORECASE | re.DOTALL)
# A key is one word; what is more may be code, which has to be seen: `credential.helper=!sh x`.
_KEY = regex(r"\w[\w+/=.:~-]*", re.ASCII)
_USER = regex(r"(?<=://)[^/@\s]+@")
_KEY_NAME = regex(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|AUTH)$", re.IGNORECASE)
_LITERALS = ("api_key", "token", "username", "password", "encrypt_with", "s3_key", "s3_secret")


def shown_command(words: Sequence[str]) -> str:
    """Returns a command without the keys among its arguments; the program is shown as it is."""
    shown = [shlex.quote(word) for word in words[:1]]
    is_value = False
    for word in words[1:]:
        if is_value and _KEY.fullmatch(word):
            shown.append(HIDDEN)
            is_value = False
            continue
        is_value = bool(_OPTION.fullmatch(word))
        plain = _USER.sub(f"{HIDDEN}@", word)
        given = _GIVEN.fullmatch(plain)
        is_key = given is not None and _KEY.fullmatch(given[2])
        quoted = shlex.quote(word) if plain == word else plain
        shown.append(f"{given[1]}{HIDDEN}" if given and is_key else quoted)
    return " ".join(shown)


def hash_of_hidden(table: Mapping[str, object]) -> str:
    """Returns the hash of the hidden parts of an entry, or "" if it has none."""
    hidden = list(_hidden(table))
    if not hidden:
        return ""
    import hashlib

    return hashlib.sha256(json.dumps(hidden).encode()).hexdigest()


def _hidden(table: Mapping[str, object]) -> Iterator[object]:
    for field in _LITERALS:
        if isinstance(text := table.get(field), str) and not text.startswith("env:"):
            yield [field, text]
    for field in ("headers", "env"):
        inner = table.get(field)
        for name, text in inner.items() if isinstance(inner, dict) else ():
            if not str(text).startswith("env:"):
                yield [field, name, str(text)]
    for field in ("command", "flags"):
        words = table.get(field)
        if isinstance(words, list) and HIDDEN in shown_command(["", *map(str, words)]):
            yield [field, *map(str, words)]
    if isinstance(url := table.get("url"), str) and not url.startswith("env:"):
        yield ["url", url]


RightKind: TypeAlias = Literal[
    "commands", "code", "programs", "addresses", "notify", "network", "files", "prices", "deletion"
]
RIGHT_KINDS: tuple[RightKind, ...] = get_args(RightKind)
Part: TypeAlias = "tuple[object, list[Right]]"


@dataclass(frozen=True, slots=True)
class Right:
    """One permission; its text names variables and headers, and shows no key.

    `values` is a hash of the hidden parts, so that a change of them changes the right.
    """

    kind: RightKind
    text: str
    values: str = ""


def part_rights(table: Mapping[str, object]) -> tuple[dict[str, object], tuple[Right, ...]]:
    """Returns the table without rights, and the rights in the order of `RIGHT_KINDS`.

    Values of a wrong type are left in, because the reader of settings reports them.
    """
    harmless: dict[str, object] = {}
    rights: list[Right] = []
    for name, value in table.items():
        kept, found = _PARTERS[name](value) if name in _PARTERS else (value, [])
        rights += found
        if kept != {} or value == {}:
            harmless[name] = kept
    return harmless, tuple(sorted(rights, key=lambda right: RIGHT_KINDS.index(right.kind)))


def _allow(value: object) -> Part:
    if not isinstance(value, dict):
        return value, []
    kinds: dict[str, RightKind] = {"commands": "commands", "private_network": "network"}
    all_of = {"commands": "any program", "private_network": "any private address"}
    rights: list[Right] = []
    for key, kind in kinds.items():
        if (allowed := value.get(key)) is True:
            rights.append(Right(kind, all_of[key]))
        elif isinstance(allowed, list):
            rights += [Right(kind, f"{item}") for item in allowed]
    files = value.get("files")
    for verb, globs in files.items() if isinstance(files, dict) else ():
        found = globs if isinstance(globs, list) else [globs]
        rights += [Right("files", f"{verb} {item}") for item in found]
    dropped = {"files", *(key for key in kinds if value.get(key))}
    return {key: item for key, item in value.items() if key not in dropped}, rights


def _entries(rights_of: Callable[[str, object], list[Right]]) -> Callable[[object], Part]:
    """Separates a section of named entries; an entry with a right is left out as a whole."""

    def part(value: object) -> Part:
        if not isinstance(value, dict):
            return value, []
        found = {name: rights_of(name, entry) for name, entry in value.items()}
        kept = {name: entry for name, entry in value.items() if not found[name]}
        return kept, [right for rights in found.values() for right in rights]

    return part


def _provider(name: str, entry: object) -> list[Right]:
    """A well-known provider at its own address, with its own variable, needs no permission.

    A key in the file does: the owner of that key can read the requests in the key's account.
    """
    if not isinstance(entry, dict):
        return []
    rights: list[Right] = []
    url, key = str(entry.get("base_url", "")).rstrip("/"), str(entry.get("api_key", ""))
    if url:
        public = next((known for known in KNOWN_PROVIDERS.values() if known.base_url == url), None)
    else:
        public = KNOWN_PROVIDERS.get(name)
    own = f"env:{public.key_variable}" if public is not None else ""
    is_brought = key.startswith(f"env:{BROUGHT}")
    is_foreign_key = key.startswith("env:") and key.replace(" ", "") != own
    has_address = bool(url) and public is None
    is_literal = isinstance(entry.get("api_key"), str) and bool(key) and key[:4] != "env:"
    if has_address or is_foreign_key or is_literal or entry.get("headers"):
        where = shown_url(url) if url else f"the address of {name!r}"
        words = _credentials(entry)
        if is_literal and not has_address:
            words = words.replace("its api_key", "its own key instead of yours", 1)
        if is_brought and not has_address:
            words = words.replace("in .env", "in .env instead of yours", 1)
        text = f"{where} for models ({name}){words}"
        rights.append(Right("addresses", text, hash_of_hidden(entry)))
    if isinstance(entry.get("replies"), str):
        rights.append(Right("files", f"read {entry['replies']}, the replies of {name}"))
    if entry.get("keeps_max_tokens"):
        rights.append(Right("prices", f"{name} is trusted to keep the limits of answers"))
    return rights


def _price(model: str, entry: object) -> list[Right]:
    prices = _table(entry)
    words = ", ".join(f"{key} ${prices[key]}" for key in ("input", "output") if key in prices)
    return [Right("prices", f"{model}: {words or 'free'}, for a million tokens")]


def _task(name: str, entry: object) -> list[Right]:
    place = str(entry)
    if place.startswith("python:"):
        return [Right("code", f"{place.removeprefix('python:')} (task {name})")]
    return [_address({"url": place}, f"for the task {name}")]


def _server(name: str, entry: object) -> list[Right]:
    table = _table(entry)
    command = table.get("command")
    if isinstance(command, list):
        return [_program(table, command, f"(MCP server {name})")]
    return [_address(table, f"for the MCP server {name}")]


def _agent(name: str, entry: object) -> list[Right]:
    table = _table(entry)
    flags = table.get("flags")
    argv = [table.get("program") or table.get("kind") or name]
    argv += flags if isinstance(flags, list) else ()
    free = ", without asking before it acts" if table.get("skip_permissions") else ""
    return [_program(table, argv, f"(agent {name}){free}")]


def _key(name: str, entry: object) -> list[Right]:
    return [_address(_table(entry), f"for HTTP steps (key {name})")]


def _notify(value: object) -> Part:
    if not (table := _table(value)):
        return value, []
    url = str(table.get("url", ""))
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    # The path of such an address may be a key.
    shown = shown_url(f"{scheme}{mark}{host}{'/...' if slash and path else ''}")
    where = url if url.startswith("env:") else shown
    text = f"{where} is notified about runs{_credentials(table)}"
    return {}, [Right("notify", text, hash_of_hidden(table))]


def _connectors(value: object) -> Part:
    table = _table(value)
    rights = [_address(table, "for connectors")] if "url" in table else []
    if isinstance(table.get("replies"), str):
        rights.append(Right("files", f"read {table['replies']}, the replies of connectors"))
    return ({} if rights else value), rights


def _runtime(value: object) -> Part:
    """Separates a cluster, which receives all inputs and results of runs.

    A person can choose Temporal even if the file does not, so its cluster is always a right.
    """
    table = _table(value)
    is_local = table.get("kind", "local") == "local"
    cluster = _table(table.get("temporal"))
    if is_local and not cluster:
        return value, []
    where, when = str(cluster.get("address", "this machine")), " if you choose Temporal" * is_local
    text = f"{where} drives runs{when}{_credentials(cluster)}"
    rights = [Right("addresses", text, hash_of_hidden(cluster))]
    values = str(cluster.get("values", ""))
    if "://" in values:
        endpoint = str(cluster.get("s3_endpoint", ""))
        place = shown_url(endpoint) if endpoint else "Amazon S3"
        keys = {"api_key": cluster.get("s3_key"), "password": cluster.get("s3_secret")}
        words = f"{place} keeps large values of runs in {values}{_credentials(keys)}"
        rights.append(Right("addresses", words))
    elif values:
        words = f"write {values}, which keeps large values of runs on a cluster"
        rights.append(Right("files", words))
    return {key: item for key, item in table.items() if is_local and key != "temporal"}, rights


def _workflows(value: object) -> Part:
    """Separates workflows that are written in Python: they are code, which is imported."""
    listed = value.get("python") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(listed, list):
        return value, []
    kept = {key: item for key, item in value.items() if key != "python"}
    return kept, [Right("code", f"{place} (a workflow)") for place in listed]


def _retention(value: object) -> Part:
    if not (table := _table(value)):
        return value, []
    words = ", ".join(f"{key} {item}" for key, item in table.items())
    return {}, [Right("deletion", f"runs that ended long ago ({words})")]


def _server_of_runs(value: object) -> Part:
    """Separates the server's address: users of its links and its callers send requests there."""
    if not (table := _table(value)).get("url"):
        return value, []
    kept = {key: item for key, item in table.items() if key != "url"}
    return kept, [_address(table, "is the address of its server in links and to others")]


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _address(table: Mapping[str, object], words: str) -> Right:
    text = f"{shown_url(str(table.get('url', '')))} {words}{_credentials(table)}"
    return Right("addresses", text, hash_of_hidden(table))


def _program(table: Mapping[str, object], argv: Sequence[object], words: str) -> Right:
    text = f"{shown_command(list(map(str, argv)))} {words}{_credentials(table)}"
    return Right("programs", text, hash_of_hidden(table))


def _credentials(table: Mapping[str, object]) -> str:
    """Returns the variables and headers of an entry by name; shows only values without secrets."""
    words = ", ".join(_credential_words(table))
    return f", with {words}" if words else ""


def _credential_words(table: Mapping[str, object]) -> Iterator[str]:
    for field in ("api_key", "token", "username", "password", "encrypt_with"):
        if isinstance(text := table.get(field), str):
            yield _variable(text) if text.startswith("env:") else f"its {field}"
    for field in ("headers", "env"):
        inner = table.get(field)
        for name, text in inner.items() if isinstance(inner, dict) else ():
            if isinstance(text, str) and text.startswith("env:"):
                yield f"{_variable(text)} as {name}"
            elif field == "env":
                # The text is shown only if it decides which programs run.
                is_seen = is_steering(name) and not _KEY_NAME.search(name)
                yield f"{name}={text if is_seen else HIDDEN}"
            else:
                yield f"the header {name}"
    yours = table.get(YOURS)
    yield from (f"${n} of your environment" for n in (yours if isinstance(yours, list) else ()))


def _variable(reference: str) -> str:
    """Describes `env:NAME`: a variable of the person, or one of a file in the folder."""
    name = reference[4:].strip()
    is_brought = name.startswith(BROUGHT)
    key = name.removeprefix(BROUGHT)
    return f"the key {key} in .env" if is_brought else f"the variable {name}"


_PARTERS: dict[str, Callable[[object], Part]] = {
    "allow": _allow,
    "providers": _entries(_provider),
    "prices": _entries(_price),
    "tasks": _entries(_task),
    "mcp": _entries(_server),
    "agents": _entries(_agent),
    "keys": _entries(_key),
    "notify": _notify,
    "connectors": _connectors,
    "retention": _retention,
    "runtime": _runtime,
    "server": _server_of_runs,
    "workflows": _workflows,
}
