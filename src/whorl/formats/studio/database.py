"""Converts workflows from the rows of AI Studio's database."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from whorl.dialects.files import Row, Taken
from whorl.errors import InvalidWorkflow
from whorl.source import plain
from whorl.source.json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

# The last version that is known.
LAST = 8
# A field that holds a password or the like; `authTokenSettingsKey` only names one.
_PASSWORD = re.compile(
    r"(?i)passw|passphrase|secret|(?:pass|token|authorization|(?<!settings)key)$"
)


def take_over(rows: Mapping[str, list[Row]], archived: bool) -> Taken:
    """Returns the workflows of a database as files that refer to each other by name."""
    notes: list[str] = []
    facts = rows.get("_meta", [])
    versions = [row.get("value") for row in facts if row.get("key") == "schema_version"]
    if (number := next((int(v) for v in map(str, versions) if v.isdecimal()), 0)) > LAST:
        notes.append(f"the database has version {number}; Whorl knows versions up to {LAST}")
    kept = [row for row in rows["workflows"] if archived or not row.get("is_archived")]
    kept.sort(key=lambda row: str(row.get("updated_at")), reverse=True)
    names = _names(kept)
    known = {str(row["id"]): str(row["name"]) for row in rows["workflows"]}
    files: dict[str, str] = {}
    for row in kept:
        text = _file(row, names, known, notes)
        if text:
            files[f"{names[str(row['id'])]}.json"] = text
    for trigger in rows.get("triggers", []):
        if trigger.get("enabled") and (ident := str(trigger["workflow_id"])) in names:
            kind, title = trigger.get("trigger_type"), known[ident]
            notes.append(f"the {kind} trigger of {title!r} is not imported")
    return Taken(files, tuple(notes))


def _names(rows: list[Row]) -> dict[str, str]:
    """Returns the file of each workflow by its id; a duplicate gets part of the id or a number."""
    names: dict[str, str] = {}
    for row in rows:
        slug, ident = _slug(str(row.get("name", ""))) or "workflow", str(row["id"])
        numbers = (f"{slug}-{number}" for number in count(len(names)))
        each = chain((slug, f"{slug}-{_slug(ident[:8])}"), numbers)
        names[next(name for name in each if name not in names)] = ident
    return {ident: name for name, ident in names.items()}


def _slug(text: str) -> str:
    """Returns the letters and digits of a text, in any script, up to a file system's limit."""
    signs = (s if unicodedata.category(s)[0] in "LMN" else "-" for s in text[:80].lower())
    slug = "-".join(filter(None, "".join(signs).split("-")))
    return slug.encode()[:200].decode(errors="ignore")


def _file(row: Row, names: dict[str, str], known: dict[str, str], notes: list[str]) -> str:
    title = str(row.get("name"))
    why = "its graph is not a JSON object"
    try:
        graph: Any = plain(read_json(str(row.get("graph_json")), title, repeated="warn").root)
    except InvalidWorkflow as fault:
        graph, why = None, f"its graph cannot be read: {fault.diagnostics[0].message}"
    if not isinstance(graph, dict):
        notes.append(f"{title!r} is not imported: {why}")
        return ""
    for node in graph.get("nodes") or ():
        data = node.get("data") if isinstance(node, dict) else None
        if isinstance(data, dict) and node.get("type") == "subworkflow":
            called = str(data.get("workflowId") or "")
            if called in names:
                data["workflowId"] = f"{names[called]}.json"
            elif called:
                why = "is archived" if called in known else "is not in the database"
                notes.append(f"{title!r} calls {known.get(called, called)!r}, which {why}")
    graph = _without_passwords(graph, "", f"{names[str(row['id'])]}.json", notes)
    fields = {"name": title, "description": str(row.get("description") or "")}
    return json.dumps({**fields, **graph}, ensure_ascii=False, indent=2) + "\n"


def _without_passwords(value: Any, node: str, file: str, notes: list[str]) -> Any:
    """Returns a value of a graph without passwords; a note names each field that is left out."""
    if isinstance(value, list):
        return [_without_passwords(part, node, file, notes) for part in value]
    if not isinstance(value, dict):
        return value
    node, kept = str(value.get("id") or node), {}
    for name, part in value.items():
        is_text = isinstance(part, str | int) and not isinstance(part, bool) and part
        if is_text and "{{" not in str(part) and _PASSWORD.search(name):
            notes.append(f"{file}: {name!r} of node {node!r} is left out: no password is copied")
        else:
            kept[name] = _without_passwords(part, node, file, notes)
    return kept
