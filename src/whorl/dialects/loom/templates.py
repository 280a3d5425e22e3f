"""Deployment templates around a definition: `[parameters('x')]` is replaced before anything runs.

What can be computed from the template's own parameters and variables is; what only a deployment
knows (subscriptions, resource groups, keys) stays as it is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find
from whorl.language import Expression, LanguageError, evaluate_metered, to_text
from whorl.source import Mapping, plain

if TYPE_CHECKING:
    from whorl.language import Json, Undefined
    from whorl.source import Value

# A whole string in brackets that begins with a call is computed when a template is deployed.
_CALL = re.compile(r"\[\s*+[A-Za-z][\w.]*+\(")
_ROUNDS_MAX = 4
# All strings of a file are computed on this much: what its author wrote is far below it.
_FUEL_MAX = 500_000


def is_deployed(text: str) -> bool:
    """Whether a string is computed at deployment."""
    called = _CALL.match(text)
    if called is None or text[-1] != "]":
        return False
    close = text.rfind(")")
    rest = text[close + 1 : -1]
    return close >= called.end() and "[" not in rest and "]" not in rest


@dataclass(slots=True)
class Template:
    """What a template says about its own names; `kept` counts what only a deployment knows."""

    parameters: dict[str, Json] = field(default_factory=dict)
    variables: dict[str, Json] = field(default_factory=dict)
    kept: int = 0
    fuel: int = _FUEL_MAX

    def lookup(self, name: str) -> Json | Undefined:
        """The names that functions of expressions look for."""
        from whorl.language import UNDEFINED

        tables: dict[str, Json] = {"$parameters": self.parameters, "$variables": self.variables}
        return tables.get(name, UNDEFINED)

    def deployed(self, text: str) -> str:
        """A string as it is after the deployment, or as it stands where that is not known."""
        for _ in range(_ROUNDS_MAX):
            if not is_deployed(text):
                return text
            computed = Expression("logic", f"@{text[1:-1].strip()}")
            value, used = evaluate_metered(computed, self, self.fuel)
            self.fuel -= used
            if isinstance(value, LanguageError):
                self.kept += 1
                return text
            text = to_text(value)
        return text


def template_of(root: Value, beside: Mapping | None = None) -> Template:
    """The template that a file is; without any names where it is none.

    The values of a file beside it take the place of its defaults.
    """
    found = Template()
    if not isinstance(root, Mapping) or find(root, "resources") is None:
        return found
    parameters, variables = find(root, "parameters"), find(root, "variables")
    for entry in parameters if isinstance(parameters, Mapping) else ():
        default = find(entry.value, "defaultValue")
        if default is not None:
            found.parameters[entry.name] = plain(default)
    for entry in beside or ():
        given = find(entry.value, "value")
        if given is not None:
            found.parameters[entry.name] = plain(given)
    if isinstance(variables, Mapping):
        found.variables = {entry.name: plain(entry.value) for entry in variables}
    return found
