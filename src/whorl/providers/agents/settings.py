"""The operator's `[agents.NAME]` with types: which program it is, and what it is allowed and told.

Only the operator's file reaches this place, so only the operator can give flags, variables, or the
leave to skip a program's questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import UsageError, did_you_mean
from whorl.providers.secrets import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("kind", "program", "model", "flags", "skip_permissions", "env", "timeout_s")

# The programs that need no configuration, by the name that workflows use.
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
ALIASES = {"claude": "claude-code"}
PLAIN = "text"
KINDS = (*PROGRAMS, PLAIN)
TIMEOUT_S = 3600.0

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent. `kind` says how to speak to `program`; `env` is what only this program sees."""

    name: str
    kind: str
    program: str
    model: str = ""
    flags: tuple[str, ...] = ()
    skip_permissions: bool = False
    env: Mapping[str, Secret] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S


def agents_from(tables: Mapping[str, object]) -> dict[str, AgentSettings]:
    """The known agents and the configured ones, by name; raises UsageError W901 or W902."""
    known = {name: AgentSettings(name=name, kind=name, program=PROGRAMS[name]) for name in PROGRAMS}
    found = known | {name: _agent(name, table) for name, table in tables.items()}
    return {alias: found[name] for alias, name in ALIASES.items()} | found


def _agent(name: str, table: object) -> AgentSettings:
    place = f"[agents.{name}]"
    if not isinstance(table, dict):
        _refuse(f"{place} must be a table, not {table!r:.80}")
    for key in table:
        if key not in FIELDS:
            help_text = did_you_mean(key, FIELDS) or f"known: {', '.join(FIELDS)}"
            raise UsageError(f"{place} has no {key!r}", help=help_text, code="W901")
    program = _text(table, "program", place)
    kind = _text(table, "kind", place) or _kind_of(name, program)
    if kind not in KINDS:
        words = ", ".join(map(repr, KINDS))
        _refuse(f"{place} kind must be one of {words}, not {kind!r}")
    program = program or PROGRAMS.get(kind, "")
    if not program:
        _refuse(f"{place} needs a program, the name or path of what is started")
    skips = table.get("skip_permissions", False)
    if not isinstance(skips, bool):
        _refuse(f"{place} skip_permissions must be true or false, not {skips!r}")
    return AgentSettings(
        name=name,
        kind=kind,
        program=program,
        model=_text(table, "model", place),
        flags=_flags(table, place),
        skip_permissions=skips,
        env=_variables(table, place),
        timeout_s=_seconds(table, place),
    )


def _kind_of(name: str, program: str) -> str:
    """What an agent speaks: its name says so, or the name of its program."""
    if name in PROGRAMS:
        return name
    stem = PurePath(program).stem
    return next((kind for kind, usual in PROGRAMS.items() if stem == usual), PLAIN)


def _text(table: Mapping[str, object], key: str, place: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or "\0" in value:
        _refuse(f"{place} {key} must be a text, not {value!r:.80}")
    return value


def _flags(table: Mapping[str, object], place: str) -> tuple[str, ...]:
    flags = table.get("flags", [])
    if not isinstance(flags, list):
        _refuse(f"{place} flags must be a list of texts, not {flags!r:.80}")
    for flag in flags:
        if not isinstance(flag, str) or "\0" in flag:
            _refuse(f"{place} flags must be texts, not {flag!r:.80}")
    return tuple(flags)


def _variables(table: Mapping[str, object], place: str) -> dict[str, Secret]:
    given = table.get("env", {})
    if not isinstance(given, dict):
        _refuse(f"{place} env must be a table of texts, not {given!r:.80}")
    found = {}
    for name, value in given.items():
        # Whoever reads the configuration file may have put a variable's text in its place.
        secret = value if isinstance(value, Secret) else None
        if isinstance(value, str):
            if value.startswith("env:"):
                _refuse(f"{place} env.{name} names the variable {value[4:]!r}, which was not read")
            secret = Secret(value)
        if secret is None or not _VARIABLE.fullmatch(name) or "\0" in secret.reveal():
            _refuse(f"{place} env.{name} must be the text of a variable")
        found[name] = secret
    return found


def _seconds(table: Mapping[str, object], place: str) -> float:
    value = table.get("timeout_s", TIMEOUT_S)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        _refuse(f"{place} timeout_s must be a number above 0, not {value!r:.80}")
    return float(value)


def _refuse(message: str) -> NoReturn:
    raise UsageError(message, code="W902", help="see the reference of whorl.toml")
