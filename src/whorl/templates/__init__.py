"""Workflows to begin with: each one as a native file and as a canvas, shipped with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["native", "studio"]

ENDINGS: dict[Form, str] = {"native": ".yaml", "studio": ".json"}
COMMANDS = "[allow] commands = true in whorl.toml"


@dataclass(frozen=True, slots=True)
class Template:
    """What a template is for, a main input to try it with, and what the operator must allow."""

    name: str
    description: str
    example: str
    needs: str = ""


_TEMPLATES = (
    Template(
        "self-refine",
        "Draft, critique, revise: a model improves its own text three times.",
        "a paragraph about why bees dance",
    ),
    Template(
        "agentic-search",
        "A model decides what to search for, judges what it found, and searches on if need be.",
        "who invented the zip fastener?",
        needs="an MCP server: [mcp.search] in whorl.toml, with a tool `search` that takes a query",
    ),
    Template(
        "code-review",
        "Review code, fix what the review found, and review again until nothing is left.",
        "def mean(xs): return sum(xs) / len(xs)",
    ),
    Template(
        "until-tests-pass",
        "Write a program, run its tests, and feed their log back until they pass.",
        "a function slug(title) that makes a URL part of a title",
        needs=COMMANDS,
    ),
    Template(
        "research-until-found",
        "Search the files of a folder with other words each time, until the answer is found.",
        "what is the limit of iterations by default?",
        needs=COMMANDS,
    ),
    Template(
        "multi-pass-extraction",
        "Extract a record from a document, pass after pass, until it stops changing.",
        "Invoice 17 of 3 May, from Ada Ltd, 120 euros",
    ),
    Template(
        "translate-and-check",
        "Translate, translate back, compare with the original, and repair what got lost.",
        "It never rains but it pours.",
    ),
    Template(
        "quality-gate",
        "Write, grade against a list of criteria, and revise until the grade is high enough.",
        "a release note for version 2.0",
    ),
)


def names() -> tuple[str, ...]:
    """Return the names of all templates, the simplest first."""
    return tuple(template.name for template in _TEMPLATES)


def find(name: str) -> Template | None:
    """Return the template of a name, or nothing for an unknown one."""
    return next((template for template in _TEMPLATES if template.name == name), None)


def read(name: str, form: Form = "native") -> str:
    """Return the file of a template, as text; the name must be one of `names()`."""
    if find(name) is None:
        raise KeyError(name)
    return files(__name__).joinpath(f"{name}{ENDINGS[form]}").read_text(encoding="utf-8")
