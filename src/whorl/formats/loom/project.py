"""The files of a project beside its definitions: parameters and app settings."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import InvalidWorkflow, Span
from whorl.formats.loom.forms import find_mapping, scalars_in
from whorl.source import plain

if TYPE_CHECKING:
    from whorl.dialects.files import SourceFiles
    from whorl.formats.loom.forms import LoomContext
    from whorl.ir.values import PortType
    from whorl.source import Mapping, Value


_SETTING = re.compile(r"\bappsetting\(\s*'((?:[^']|'')*)'\s*\)", re.IGNORECASE)
# The names of settings whose values nobody is shown.
_KEY_LIKE = re.compile(r"key|secret|password|token|connectionstring|signature", re.IGNORECASE)


def values_beside(context: LoomContext) -> Mapping | None:
    """The values in `parameters.json` beside a definition, or in a file that bears its name."""
    names = f"{context.stem}.parameters.json", "parameters.json"
    root = open_beside(context, *names, is_kept=True)
    inner = find_mapping(root, "parameters")
    return root if inner is None else inner


def name_of(context: LoomContext) -> str:
    """The name of a definition without one: of its file, or of the folder of `workflow.json`."""
    folder = context.files.path.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
    is_named = context.stem.lower() == "workflow" and not context.lenient
    return folder if is_named and folder not in ("", ".", "..") else context.stem


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """The file of a workflow that bears the name of its folder, as in a project of Logic Apps."""
    path = f"{name.rstrip('/')}/workflow.json"
    with suppress(InvalidWorkflow):
        files.open(base, path, Span(path, 1, 1))
        return [path]
    return []


def open_beside(context: LoomContext, *names: str, is_kept: bool = False) -> Mapping | None:
    """The first of these files that stands beside the definition; the last may be a folder up."""
    file = context.file.replace("\\", "/").rpartition("/")[2]
    listed = [name for name in (*names, f"../{names[-1]}") if name != file]
    reference = None if context.lenient else context.files.find(listed)
    # A file of that name further below belongs to another project.
    if reference not in listed:
        return None
    document = context.files.open(reference, context.document.root.span)
    if is_kept:
        context.sources[document.file] = document.text
    return find_mapping(document.root)


def setting_ports(context: LoomContext, settings: list[str]) -> dict[str, ir.Port]:
    """The inputs for app settings: one that the project does not have must be given to the run.

    The text of `local.settings.json` is kept nowhere: people write keys into it.
    """
    root = open_beside(context, "local.settings.json") if settings else None
    values = find_mapping(root, "Values")
    local = {entry.name.lower(): plain(entry.value) for entry in values or ()}
    ports: dict[str, ir.Port] = {}
    for name in settings:
        value, is_key = local.get(name.lower()), _KEY_LIKE.search(name) is not None
        is_needed = value is None and not context.lenient
        kind: PortType = "string" if is_key else "any"
        ports[name] = ir.Port(name, kind, required=is_needed, default=value, secret=is_key)
    return ports


def settings_in(value: Value | None) -> list[str]:
    """The names of the app settings that a value mentions."""
    settings: dict[str, str] = {}
    for scalar in scalars_in(value):
        for name in _SETTING.findall(scalar.text):
            settings.setdefault(name.lower(), name.replace("''", "'"))
    return list(settings.values())


def warn_of_host(context: LoomContext) -> None:
    """Warns where the host of a project has limits, which have no effect."""
    settings = find_mapping(open_beside(context, "host.json"), "extensions", "workflow", "settings")
    listed = [e for e in settings or () if e.name.lower().startswith("runtime.")]
    if listed:
        message = f"the setting {listed[0].name!r} of the host has no effect here"
        advice = "what bounds runs here is in [limits] of whorl.toml"
        context.warn("W023", message, listed[0].key.span, label="no effect", help=advice)
