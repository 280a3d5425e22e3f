"""Parameters: those that a definition declares, with values around it or in a file beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find
from whorl.dialects.loom.texts import computed, scalars_in, value_of
from whorl.source import Mapping, plain

if TYPE_CHECKING:
    from whorl.dialects.loom.draft import Draft
    from whorl.dialects.loom.forms import Form
    from whorl.source import Value

_SETTING = re.compile(r"\bappsetting\(\s*'((?:[^']|'')*)'\s*\)", re.IGNORECASE)


@dataclass(slots=True)
class Parameters:
    """The parameters as inputs of the run; some have expressions over app settings instead."""

    ports: list[ir.Port] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)
    computed: dict[str, ir.Value] = field(default_factory=dict)
    settings: list[str] = field(default_factory=list)

    @property
    def table(self) -> ir.Value:
        """All of them by name."""
        given = [(port.name, computed("fact", port.name)) for port in self.ports]
        return ir.Fields((*given, *self.computed.items()))

    @property
    def variables(self) -> tuple[tuple[str, ir.Value], ...]:
        """The table as a variable; those that are only mentioned are in it if they are given."""
        if not self.mentioned:
            return (("$parameters", self.table),)
        joined = computed("given_beside", "$declared", [*self.mentioned])
        return (("$declared", self.table), ("$parameters", joined))


def values_beside(draft: Draft) -> Mapping | None:
    """The values in `parameters.json` beside a definition, or in a file that bears its name."""
    file = draft.document.file.replace("\\", "/").rpartition("/")[2]
    stem = file.rpartition(".")[0] or file
    names = [f"{stem}.parameters.json", "parameters.json", "../parameters.json"]
    reference = draft.files.find([name for name in names if name != file])
    # A file of that name further below belongs to another definition.
    if draft.lenient or reference not in names:
        return None
    document = draft.files.open(reference, draft.document.root.span)
    draft.sources[document.file] = document.text
    inner = find(document.root, "parameters")
    found = inner if isinstance(inner, Mapping) else document.root
    return found if isinstance(found, Mapping) else None


def known_parameters(draft: Draft, form: Form) -> dict[str, Value | None]:
    """The parameters that the definition declares or that have values, with these."""
    found: dict[str, tuple[str, Value | None]] = {}
    written = find(form.definition, "parameters")
    for entry in written if isinstance(written, Mapping) else ():
        found[entry.name.lower()] = (entry.name, find(entry.value, "defaultValue"))
    for values in (draft.beside, form.parameters):
        for entry in values or ():
            given = find(entry.value, "value")
            if given is not None:
                name = found.get(entry.name.lower(), (entry.name, None))[0]
                found[entry.name.lower()] = (name, given)
    return dict(found.values())


def read_parameters(draft: Draft, form: Form, mentioned: list[str]) -> Parameters:
    """The known parameters, and those that are only mentioned."""
    told = Parameters(settings=settings_in(form.definition), mentioned=mentioned)
    for name, value in known_parameters(draft, form).items():
        _add(draft, told, name, value)
    return told


def _add(draft: Draft, told: Parameters, name: str, value: Value | None) -> None:
    settings = [] if value is None else settings_in(value)
    if settings:
        told.computed[name] = value_of(draft, value)
        told.settings += [one for one in settings if one not in told.settings]
        return
    default = None if value is None else plain(value)
    told.ports.append(ir.Port(name, required=False, default=default))


def settings_in(value: Value) -> list[str]:
    """The names of the app settings that a value mentions."""
    found: dict[str, str] = {}
    for scalar in scalars_in(value):
        for name in _SETTING.findall(scalar.text):
            found.setdefault(name.lower(), name.replace("''", "'"))
    return list(found.values())
