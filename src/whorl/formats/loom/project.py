"""The files of a project beside its definitions: values of parameters, and app settings."""

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
    from whorl.language import Json
    from whorl.source import Document, Mapping, Value


_SETTING = re.compile(r"\bappsetting\(\s*'((?:[^']|'')*)'\s*\)", re.IGNORECASE)
# The names of settings whose values nobody is shown.
_KEY_LIKE = re.compile(r"key|secret|password|token|connectionstring|signature", re.IGNORECASE)


def values_beside(context: LoomContext) -> Mapping | None:
    """The values in `parameters.json` beside a definition, or in a file that bears its name."""
    file = context.file.replace("\\", "/").rpartition("/")[2]
    own = f"{file.rpartition('.')[0] or file}.parameters.json"
    names = [own, "parameters.json", "../parameters.json"]
    reference = context.files.find([name for name in names if name != file])
    # A file of that name further below belongs to another definition.
    if context.lenient or reference not in names:
        return None
    document = context.files.open(reference, context.document.root.span)
    context.sources[document.file] = document.text
    inner = find_mapping(document.root, "parameters")
    return find_mapping(document.root) if inner is None else inner


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


def open_beside(context: LoomContext, name: str) -> Document | None:
    """A file of the project, beside the definition or one folder up."""
    names = [name, f"../{name}"]
    reference = None if context.lenient else context.files.find(names)
    # A file of that name further below belongs to another project.
    return context.files.open(reference, context.document.root.span) if reference in names else None


def _local_settings(context: LoomContext) -> dict[str, Json]:
    """The app settings of the project's `local.settings.json`, by name in lower case.

    Its text is kept nowhere: people write keys into it.
    """
    document = open_beside(context, "local.settings.json")
    values = find_mapping(document.root, "Values") if document is not None else None
    return {entry.name.lower(): plain(entry.value) for entry in values or ()}


def setting_ports(context: LoomContext, settings: list[str]) -> dict[str, ir.Port]:
    """The inputs for app settings: one that the project does not have must be given to the run."""
    local = _local_settings(context) if settings else {}
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
