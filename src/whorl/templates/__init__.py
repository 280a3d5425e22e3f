"""Workflows to begin with: each one as a native file and as a canvas, shipped with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["native", "studio"]

ENDINGS: dict[Form, str] = {"native": ".yaml", "studio": ".json"}
_COMMANDS = "[allow] commands = true in whorl.toml"
_SEARCH = "an MCP server: [mcp.search] in whorl.toml, with a tool `search` that takes a query"


@dataclass(frozen=True, slots=True)
class Template:
    """A main input to try a template with, and what the operator must allow."""

    name: str
    example: str
    needs: str = ""

    @property
    def description(self) -> str:
        """What it is for, as both of its files say."""
        return str(json.loads(read(self.name, "studio"))["description"])


# The simplest first.
TEMPLATES = (
    Template("self-refine", "a paragraph about why bees dance"),
    Template("agentic-search", "who invented the zip fastener?", _SEARCH),
    Template("code-review", "def mean(xs): return sum(xs) / len(xs)"),
    Template(
        "until-tests-pass", "a function slug(title) that makes a URL part of a title", _COMMANDS
    ),
    Template("research-until-found", "what is the limit of iterations by default?", _COMMANDS),
    Template("multi-pass-extraction", "Invoice 17 of 3 May, from Ada Ltd, 120 euros"),
    Template("translate-and-check", "It never rains but it pours."),
    Template("quality-gate", "a release note for version 2.0"),
)


def find(name: str) -> Template | None:
    """Return the template of a name, or nothing for an unknown one."""
    return next((template for template in TEMPLATES if template.name == name), None)


def read(name: str, form: Form = "native") -> str:
    """Return the file of a template, as text; the name must be that of one of them."""
    if find(name) is None:
        raise KeyError(name)
    return files(__name__).joinpath(f"{name}{ENDINGS[form]}").read_text(encoding="utf-8")
