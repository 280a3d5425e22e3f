"""Python, HTTP, help texts and the page use the words of the glossary."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

import whorl
from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[2]
# The names that the files and journals of users have, and the check of experiments in CI.
KEPT = re.compile(r"--events-as[^.]*\.|\bexperiment gate\b|^  gate\b", re.MULTILINE)
# What the page shows: text between tags, and the properties that are shown or read aloud.
SHOWN = re.compile(
    r"""(?:aria-label|title|placeholder|label|help|legend|menu|head|what|empty|words)"""
    r"""(?:=\{?|: )(["`])(?P<value>.*?)\1|>(?P<text>[^<>{}=;]*[a-z][^<>{}=;]*)</""",
    re.DOTALL,
)
PUBLIC = [getattr(whorl, name) for name in whorl.__all__ if not name.startswith("_")]


def replaced(place: str) -> dict[str, str]:
    """The words that `names` or `texts` do not have, with what is in their place."""
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    section = text.partition("## Words that people do not read")[2]
    rows = re.findall(r"^\| (`.+`) \| (\w+) \| (.+) \|$", section, re.MULTILINE)
    return {
        word.strip("`"): better
        for words, where, better in rows
        for word in words.split(", ")
        if where in (place, "both")
    }


def misused(place: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    words = replaced(place)
    pattern = re.compile(rf"(?i)(?<![\w])({'|'.join(words)})s?(?![\w])")
    return [
        f"{where}: {text[max(0, found.start() - 40) : found.end() + 40]!r}: "
        f"write {words[found[1].lower()]}"
        for where, text in texts
        for found in pattern.finditer(text)
    ]


def public_names() -> Iterator[tuple[str, str]]:
    for what in PUBLIC:
        name = getattr(what, "__name__", str(what))
        yield name, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")
        parts = vars(what).items() if inspect.isclass(what) else [(name, what)]
        for part, found in parts:
            if not part.startswith("_") and inspect.isfunction(found):
                yield name, " ".join([part, *inspect.signature(found).parameters])


def routes() -> Iterator[tuple[str, str]]:
    described = json.loads((ROOT / "web" / "openapi.json").read_text())
    for path, methods in described["paths"].items():
        given = [p["name"] for each in methods.values() for p in each.get("parameters", ())]
        yield path, " ".join([*re.findall(r"[a-z_]+", path), *given])


def help_texts(
    command: click.Command, outer: click.Context, name: str
) -> Iterator[tuple[str, str]]:
    with click.Context(command, parent=outer, info_name=name) as context:
        context.terminal_width = context.max_content_width = 200
        yield context.command_path, command.get_help(context)
        for part in command.list_commands(context) if isinstance(command, click.Group) else ():
            found = command.get_command(context, part)
            if found is not None and not found.hidden:
                yield from help_texts(found, context, part)


def shown_on_the_page() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "web" / "src").rglob("*.ts*")):
        if path.name != "schema.d.ts":
            for found in SHOWN.finditer(path.read_text()):
                value = re.sub(r"\$\{[^}]*\}", "", found["value"] or found["text"] or "")
                yield str(path.relative_to(ROOT)), value


def test_public_names_of_python() -> None:
    assert misused("names", public_names()) == []


def test_routes_and_their_parameters() -> None:
    assert misused("names", routes()) == []


def test_help_texts() -> None:
    group = build_group(COMMANDS)
    with click.Context(group, info_name="whorl") as context:
        texts = list(help_texts(group, context, "whorl"))

    assert len(texts) > 60
    assert misused("texts", ((where, KEPT.sub("", text)) for where, text in texts)) == []


def test_labels_and_texts_of_the_page() -> None:
    texts = list(shown_on_the_page())

    assert len(texts) > 300
    assert misused("texts", texts) == []
