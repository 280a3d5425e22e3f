"""The operator's `[agents.NAME]` with types: which program it is, and what it is allowed and told.

Only the operator's file reaches this place, so only the operator can give flags, variables, or the
leave to skip a program's questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from whorl.providers.secrets import Secret
from whorl.providers.settings.fields import (
    check_keys,
    number,
    refuse,
    resolved,
    section,
    table_at,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

FIELDS = ("kind", "program", "model", "flags", "skip_permissions", "env", "timeout_s")

# The programs that need no configuration, by the name that workflows use.
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
ALIASES = {"claude": "claude-code"}
PLAIN = "text"
KINDS = (*PROGRAMS, PLAIN)
TIMEOUT_S = 3600.0

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CREDENTIAL = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent. `kind` says how to speak to `program`; `env` is what only this program sees."""

    name: str
    kind: str
    program: str
    model: str = ""
    flags: tuple[str, ...] = ()
    skip_permissions: bool = False
    env: Mapping[str, str | Secret] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S

    def secrets(self) -> tuple[Secret, ...]:
        """What must not come back from the program."""
        return tuple(value for value in self.env.values() if isinstance(value, Secret))

    def variables(self) -> dict[str, str]:
        """What the operator adds to the program's environment."""
        values = self.env.items()
        return {name: v.reveal() if isinstance(v, Secret) else v for name, v in values}


def agents_from(tables: Table, environment: Mapping[str, str]) -> dict[str, AgentSettings]:
    """The known agents and the configured ones, by name; raises UsageError."""
    known = {name: AgentSettings(name=name, kind=name, program=PROGRAMS[name]) for name in PROGRAMS}
    found = known | {name: _agent(name, tables[name], environment) for name in tables}
    return {alias: found[name] for alias, name in ALIASES.items()} | found


def _agent(name: str, value: object, environment: Mapping[str, str]) -> AgentSettings:
    place = f"[agents.{name}]"
    table = table_at(value, place)
    check_keys(table, FIELDS, place)
    program = typed(table, "program", str, place=place, default="")
    kind = typed(table, "kind", str, place=place, default="") or _kind_of(name, program)
    if kind not in KINDS:
        refuse(f"{place} kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    program = program or PROGRAMS.get(kind, "")
    if not program or "\0" in program:
        refuse(f"{place} needs a program, the name or path of what is started")
    timeout_s = number(table, "timeout_s", place, TIMEOUT_S)
    return AgentSettings(
        name=name,
        kind=kind,
        program=program,
        model=typed(table, "model", str, place=place, default=""),
        flags=_flags(table, place),
        skip_permissions=typed(table, "skip_permissions", bool, place=place, default=False),
        env=_variables(table, place, environment),
        timeout_s=timeout_s or refuse(f"{place} timeout_s must be above 0"),
    )


def _kind_of(name: str, program: str) -> str:
    """What an agent speaks: its name says so, or the name of its program."""
    if name in PROGRAMS:
        return name
    stem = PurePath(program).stem
    return next((kind for kind, usual in PROGRAMS.items() if stem == usual), PLAIN)


def _flags(table: Table, place: str) -> tuple[str, ...]:
    flags = table.get("flags", [])
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        refuse(f"{place} flags must be a list of texts, not {flags!r:.80}")
    if any("\0" in flag for flag in flags):
        refuse(f"{place} flags hold a NUL character, which no command line can")
    return tuple(flags)


def _variables(table: Table, place: str, environment: Mapping[str, str]) -> dict[str, str | Secret]:
    """Variables; those that come from our own or are named like a credential are secrets."""
    found: dict[str, str | Secret] = {}
    for name, value in section(table, "env", place).items():
        if not isinstance(value, str) or not _VARIABLE.fullmatch(name) or "\0" in value:
            refuse(f"{place} env.{name} must be the text of a variable, not {value!r:.80}")
        text = resolved(value, environment)
        if value.startswith("env:") and not text:
            refuse(f"{place} env.{name} names the variable {value[4:]!r}, which is not set")
        hidden = value.startswith("env:") or _CREDENTIAL.search(name)
        found[name] = Secret(text) if hidden else text
    return found
