"""What a whorl.toml holds that nobody is shown who looks at what it permits.

People write keys into the variables and arguments of programs, and into addresses. A hash of what
is left out tells whether it has changed.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from whorl.ir.checks.steering import is_steering
from whorl.lazily import regex
from whorl.providers.redaction import HIDDEN
from whorl.providers.settings.tables import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMED = r"[\w.-]*(?:token|key|secret|passw|auth|credential|header)[\w.-]*"
# After one dash stand many options, of which one may run what follows: `bash -cauth ...`.
_OPTION = regex(rf"--{_NAMED}", re.IGNORECASE)
_GIVEN = regex(rf"(-{{0,2}}{_NAMED}=)(.+)", re.IGNORECASE | re.DOTALL)
# A key is one word; what is more may be code, which has to be seen: `credential.helper=!sh x`.
_KEY = regex(r"\w[\w+/=.:~-]*", re.ASCII)
_USER = regex(r"(?<=://)[^/@\s]+@")
_KEY_NAME = regex(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|AUTH)$", re.IGNORECASE)
_LITERALS = ("api_key", "token", "username", "password", "encrypt_with", "s3_key", "s3_secret")
# What an earlier version has remembered of variables: `A=text, B=text, the variable C`.
_REMEMBERED = regex(r"\b([A-Za-z_]\w*)=.*?(?=, [A-Za-z_]\w*=|, the |$)", re.DOTALL)
_NAMED_ONLY = regex(r"the variable (\w+)(?=,|$)")
_PROGRAM = regex(r"(.*) \((MCP server|agent) (.*)", re.DOTALL)
_HOOK = regex(r"'([^']*)' is notified (.*)", re.DOTALL)


def shown_variable(name: str, text: str) -> str:
    """A variable of a program; its text only where that decides which programs are run."""
    return f"{name}={text if is_steering(name) and not _KEY_NAME.search(name) else HIDDEN}"


def shown_command(words: Sequence[str]) -> str:
    """A command without the keys among its arguments; the program is shown as it is."""
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
        shown.append(f"{given[1]}{HIDDEN}" if given and is_key else _quoted(plain, word))
    return " ".join(shown)


def _quoted(plain: str, word: str) -> str:
    return shlex.quote(word) if plain == word else plain


def shown_hook(url: str) -> str:
    """An address whose path may be a key: its host."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return shown_url(f"{scheme}{mark}{host}{'/...' if slash and path else ''}")


def hash_of_hidden(table: Mapping[str, object]) -> str:
    """The hash of what may not be shown of an entry; empty where there is nothing of the kind."""
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


def shown_again(kind: str, text: str) -> str:
    """A right as it is shown now, of what an earlier version remembered with its values."""
    if kind == "programs" and (parts := _PROGRAM.fullmatch(text)):
        command, what, rest = parts.groups()
        name, mark, values = rest.partition(", with ")
        try:
            command = shown_command(shlex.split(command))
        except ValueError:
            command = HIDDEN
        values = _REMEMBERED.sub(lambda found: shown_variable(found[1], HIDDEN), values)
        values = _NAMED_ONLY.sub(rf"\1={HIDDEN}", values)
        return f"{command} ({what} {name}{mark}{values}"
    if kind == "notify" and (parts := _HOOK.fullmatch(text)):
        return f"{shown_hook(parts[1])} is notified {parts[2]}"
    return text
