"""Reads the configuration folder of mcp-cli into sections of whorl.toml.

`config.yaml` names the others: settings, a file for each provider and each MCP server, folders of
workflows. Keys of a provider stay names of variables.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.files import Sections
from whorl.dialects.reader import parse
from whorl.errors import InvalidWorkflow, UsageError, did_you_mean
from whorl.lazily import dataclass
from whorl.source import plain

if TYPE_CHECKING:
    from typing import NoReturn

    from whorl.dialects.files import ConfigurationFiles

Table: TypeAlias = "dict[str, object]"

ENVIRONMENT = ".env"
_INCLUDES = (
    *("settings", "providers", "embeddings", "servers", "rag", "workflows", "runas", "templates"),
    "skills",
)
# The protocol of each of their interfaces, and its default address.
_KINDS = {
    "openai_compatible": ("openai", "https://api.openai.com/v1"),
    "ollama_native": ("ollama", "http://localhost:11434"),
    "anthropic_native": ("anthropic", "https://api.anthropic.com"),
    "gemini_native": ("openai", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "azure_openai": ("openai", ""),
}
# Local servers whose address is often written without the path of this format.
_WITHOUT_PATH = re.compile(r"https?://[^/]+:(?:11434|1234)/?")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_LINE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)")
_UNUSED = ("temperature", "max_tokens")


@dataclass(slots=True)
class _Reading:
    files: ConfigurationFiles
    providers: dict[str, Table] = field(default_factory=dict)
    servers: dict[str, Table] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_sections(files: ConfigurationFiles) -> Sections:
    """Returns the sections of a configuration; raises UsageError W901 with the file."""
    reading = _Reading(files)
    root = _object(files, files.name)
    includes = _table(root.get("includes"))
    _check(includes, _INCLUDES, files.name, "'includes'")
    named = includes.get("settings")
    settings = _object(files, named) if isinstance(named, str) else {}
    for kind in ("provider", "server"):
        glob = includes.get(f"{kind}s")
        for path in files.matching(glob) if isinstance(glob, str) and glob else ():
            _add(reading, path, kind)
    commands = sorted({str(_items(server["command"])[0]) for server in reading.servers.values()})
    defaults: Table = {}
    name = _table(settings.get("ai")).get("default_provider")
    if isinstance(name, str) and name in reading.providers:
        defaults["provider"] = name
        if model := reading.providers[name].get("model"):
            # The default provider also judges conditions.
            defaults["judge_model"] = f"{name}/{model}"
    table: Table = {
        "defaults": defaults,
        "providers": reading.providers,
        "mcp": reading.servers,
        "workflows": {"folders": _folders(includes, settings)},
    }
    if commands:
        # A user who trusts the configuration allows its servers to start.
        table["allow"] = {"commands": commands}
    kept = {name: section for name, section in table.items() if section}
    return Sections(kept, _variables(files), tuple(reading.notes))


def _object(files: ConfigurationFiles, path: str) -> Table:
    text = files.text(path)
    if text is None:
        _refuse(path, "does not exist")
    try:
        value = plain(parse(text, path).root)
    except InvalidWorkflow as fault:
        found = fault.diagnostics[0]
        place = f"{path}:{found.span.line}" if found.span else path
        raise UsageError(f"{place}: {found.message}", help=found.help, code="W901") from fault
    if not isinstance(value, dict):
        _refuse(path, "must be an object")
    return dict(value)


def _refuse(path: str, words: str, advice: str = "") -> NoReturn:
    raise UsageError(f"{path}: {words}", help=advice, code="W901")


def _check(table: Table, known: tuple[str, ...], path: str, owner: str) -> None:
    for name in table:
        if name not in known:
            advice = did_you_mean(name, known) or f"known: {', '.join(known)}"
            _refuse(path, f"{owner} has no {name!r}", advice)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _table(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def _add(reading: _Reading, path: str, kind: str) -> None:
    """Adds a provider or a server that has its own file."""
    written, key = _object(reading.files, path), f"{kind}_name"
    interface = ("interface_type",) if kind == "provider" else ()
    _check(written, (*interface, key, "config"), path, f"a {kind}")
    name, config = written.get(key), _table(written.get("config"))
    if not isinstance(name, str) or not name:
        _refuse(path, f"a {kind} lacks {key!r}", "workflows use this name")
    if interface:
        _set_provider(reading, path, name, str(written.get("interface_type") or ""), config)
        return
    command = config.get("command")
    if not isinstance(command, str) or not command:
        _refuse(path, f"server {name!r} lacks its 'command'", "name the program of the MCP server")
    server: Table = {"command": [command, *map(str, _items(config.get("args")))]}
    if env := {key: _variable_or_text(text) for key, text in _table(config.get("env")).items()}:
        server["env"] = env
    reading.servers[name] = server


def _set_provider(reading: _Reading, path: str, name: str, kind: str, config: Table) -> None:
    if kind not in _KINDS:
        words = f"provider {name!r} has the interface {kind!r}, which is not supported"
        reading.notes.append(f"{path}: {words} (there are: {', '.join(_KINDS)})")
        return
    wire, usual = _KINDS[kind]
    url = str(config.get("api_endpoint") or usual).rstrip("/")
    if not url:
        _refuse(path, f"provider {name!r} lacks 'api_endpoint'", "set the address of your resource")
    if kind == "openai_compatible" and _WITHOUT_PATH.fullmatch(url):
        url = f"{url}/v1"
    provider: Table = {"kind": wire, "base_url": url}
    key = _variable_or_text(config.get("api_key"))
    if key and kind == "azure_openai":
        provider["headers"] = {"api-key": key}
    elif key:
        provider["api_key"] = key
    if isinstance(model := config.get("default_model"), str) and model:
        provider["model"] = model
    if isinstance(seconds := config.get("timeout_seconds"), int | float) and seconds > 0:
        provider["timeout_s"] = seconds
    for unused in (each for each in _UNUSED if config.get(each) is not None):
        reading.notes.append(f"{path}: {unused!r} of a provider has no effect: write it in a file")
    reading.providers[name] = provider


def _variable_or_text(value: object) -> str:
    """Returns the name of a key's variable, or the text itself."""
    text = value if isinstance(value, str) else ""
    named = _VARIABLE.fullmatch(text.strip())
    return f"env:{named[1] or named[2]}" if named else text


def _folders(includes: Table, settings: Table) -> list[str]:
    """Returns the folders of workflows and skills: the part of a pattern before its first star."""
    skills = _table(settings.get("skills")).get("skills_directory")
    workflows = str(includes.get("workflows") or "").partition("*")[0].rpartition("/")[0]
    named = (workflows, str(skills or "config/skills").rstrip("/"))
    return [folder for folder in named if folder and not folder.startswith(("/", "~", ".."))]


def _variables(files: ConfigurationFiles) -> dict[str, str]:
    lines = (files.text(ENVIRONMENT) or "").splitlines()
    written = [match for line in lines if (match := _LINE.fullmatch(line.strip()))]
    texts = {match[1]: match[2].strip().strip("\"'") for match in written}
    # An empty value there falls back to the environment.
    return {name: text for name, text in texts.items() if text}
