"""Checks a parsed whorl.toml and makes settings of it; unknown keys are errors, never ignored.

Only the operator's file reaches this place, so only the operator can give an agent flags,
variables, or the permission to skip its questions.
"""

from __future__ import annotations

import base64
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, get_args

from whorl.ir.values import parse_duration
from whorl.lazily import regex
from whorl.providers import settings
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.redaction import Secret
from whorl.providers.settings import RuntimeSettings, TemporalSettings
from whorl.providers.settings.model_providers import providers_from
from whorl.providers.settings.tables import (
    Table,
    check_user,
    is_web_address,
    refuse,
    resolve,
    shown_url,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.providers.settings.tables import Environment

# The sections and their keys; None where the keys are names that the operator chooses.
SECTIONS: dict[str, tuple[str, ...] | None] = {
    "defaults": ("provider", "model", "judge_model", "judge_reasons"),
    "providers": None,
    "prices": None,
    "allow": ("commands", "private_network", "files", "hosts"),
    "tasks": None,
    "mcp": None,
    "agents": None,
    "keys": None,
    "connectors": ("url", "replies"),
    "limits": ("iterations", "time", "cpu"),
    "notify": ("url", "headers", "on"),
    "queue": None,
    "retention": ("older_than", "max_runs", "max_size", "audit"),
    "run": ("drain",),
    "runtime": ("kind", "temporal"),
    "server": ("drain", "max_concurrent", "url", "hooks_per_minute"),
    "workflows": ("folders", "python"),
}
FILES = ("read", "write")
PRICE = ("input", "output")
SERVER = ("command", "url", "env", "headers", "tools", "timeout_s")
AGENT = ("kind", "program", "model", "flags", "skip_permissions", "env", "timeout_s")
KEY = ("url", "token", "username", "password", "headers")
ITERATIONS_MAX, TIME_MAX_S, CPU_MAX_S = 1_000, 86_400.0, 86_400.0

# What a command may see of our own environment (security rule R8).
COMMAND_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")

# The programs that need no configuration, by the name that workflows use.
AGENT_PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
AGENT_ALIASES = {"claude": "claude-code"}
TEXT_AGENT = "text"
AGENT_KINDS = (*AGENT_PROGRAMS, TEXT_AGENT)

_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_CREDENTIAL = regex("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
# A number alone would be seconds, which nobody means who keeps runs for a time.
_BARE = regex(r"[0-9.]*")
_SIZE = regex(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]B)", re.IGNORECASE)
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def settings_from(
    table: Mapping[str, object], environment: Environment, *, project_root: str = "."
) -> settings.Settings:
    """The settings of a parsed whorl.toml and the well-known variables; raises UsageError."""
    whole = Table(table, "whorl.toml", tuple(SECTIONS))
    sections = {
        name: Table(whole.values.get(name, {}), f"[{name}]", keys, environment)
        for name, keys in SECTIONS.items()
    }
    defaults, folders = sections["defaults"], sections["workflows"]
    folders.texts("folders")
    providers = providers_from(sections["providers"].values, environment)
    return settings.Settings(
        default_provider=defaults.text("provider") or next(iter(providers), ""),
        default_model=defaults.text("model"),
        judge_model=defaults.text("judge_model"),
        judge_reasons=defaults.typed("judge_reasons", bool, True),
        providers=providers,
        prices={name: _price(name, price) for name, price in sections["prices"].values.items()},
        allow=_allow(sections["allow"]),
        tasks={name: _task(name, task) for name, task in sections["tasks"].values.items()},
        agents=agents_from(sections["agents"].values, environment),
        notify=_notify(sections["notify"]),
        mcp={n: _server(n, table, environment) for n, table in sections["mcp"].values.items()},
        keys={n: _key(n, table, environment) for n, table in sections["keys"].values.items()},
        connectors=_connectors(sections["connectors"]),
        limits=_limits(sections["limits"]),
        queue={name: sections["queue"].count(name) or 1 for name in sections["queue"].values},
        environment={k: environment[k] for k in COMMAND_VARIABLES if k in environment},
        project_root=project_root,
        retention=_retention(sections["retention"]),
        server=_server_settings(sections["server"]),
        drain_s=_drain_s(sections["run"]),
        runtime=runtime_from(sections["runtime"]),
        workflows=dict(folders.values),
    )


def _price(model: str, value: object) -> settings.Price:
    table = Table(value, f"[prices.{model}]", PRICE)
    return settings.Price(table.number("input", 0.0), table.number("output", 0.0))


def _allow(table: Table) -> settings.Allow:
    permissions: dict[str, bool | tuple[str, ...]] = {}
    for key in ("commands", "private_network"):
        value = table.values.get(key, False)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)
        if not isinstance(value, bool | tuple):
            refuse(f"[allow] {key} must be true, false or a list of texts, not {type_name(value)}")
        permissions[key] = value
    files = Table(table.values.get("files", {}), "[allow] files", FILES)
    globs = [*(files.texts("read") or ()), *(files.texts("write") or ())]
    for glob in globs:
        if not glob or glob.startswith(("/", "~")) or "\\" in glob or ".." in glob.split("/"):
            refuse(f"[allow] files names {glob!r}, which is not a pattern for files in the project")
    return settings.Allow(
        commands=permissions["commands"],
        private_network=permissions["private_network"],
        read=files.texts("read"),
        write=files.texts("write") or (),
        hosts=table.texts("hosts"),
    )


def _task(name: str, task: object) -> str:
    if not isinstance(task, str) or not task.startswith(("python:", "https://", "http://")):
        shown = shown_url(task) if isinstance(task, str) else type_name(task)
        refuse(f"[tasks] {name!r} must be 'python:module:function' or a URL, not {shown}")
    return task


def _server(name: str, value: object, environment: Environment) -> settings.ToolServer:
    table = Table(value, f"[mcp.{name}]", SERVER, environment)
    command, url = table.texts("command") or (), table.text("url")
    if bool(command) == bool(url):
        refuse(f'{table.place} needs either command = ["program", ...] or url = "https://..."')
    # What comes from our own variables is secret; one that is not set here is not set there.
    env = {
        variable: Secret(resolve(text, environment)) if text.startswith("env:") else text
        for variable, text in table.text_table("env")
        if resolve(text, environment) or not text.startswith("env:")
    }
    return settings.ToolServer(
        name=name,
        command=command,
        url=table.url(url, "a web address"),
        env=env,
        headers=table.headers(),
        tools=table.texts("tools"),
        timeout_s=table.number("timeout_s", 60.0),
    )


def agents_from(
    tables: Mapping[str, object], environment: Environment
) -> dict[str, settings.AgentSettings]:
    agents = {
        name: settings.AgentSettings(name=name, kind=name, program=program)
        for name, program in AGENT_PROGRAMS.items()
    }
    agents |= {name: _agent(name, table, environment) for name, table in tables.items()}
    return {alias: agents[name] for alias, name in AGENT_ALIASES.items()} | agents


def _agent(name: str, value: object, environment: Environment) -> settings.AgentSettings:
    table = Table(value, f"[agents.{name}]", AGENT, environment)
    program = table.text("program")
    # The format that an agent speaks: its name says so, or the name of its program.
    stem = PurePath(program).stem
    by_program = {usual: kind for kind, usual in AGENT_PROGRAMS.items()}.get(stem, TEXT_AGENT)
    kind = table.text("kind") or (name if name in AGENT_PROGRAMS else by_program)
    if kind not in AGENT_KINDS:
        kinds = ", ".join(map(repr, AGENT_KINDS))
        refuse(f"{table.place} kind must be one of {kinds}, not {kind!r}")
    program = program or AGENT_PROGRAMS.get(kind, "")
    if not program or "\0" in program:
        refuse(f"{table.place} needs a program, the name or path of what is started")
    flags = table.texts("flags") or ()
    if any("\0" in flag for flag in flags):
        refuse(f"{table.place} flags contain a NUL character, which no command line can")
    timeout_s = table.number("timeout_s", settings.AGENT_TIMEOUT_S)
    return settings.AgentSettings(
        name=name,
        kind=kind,
        program=program,
        model=table.text("model"),
        flags=flags,
        skip_permissions=table.typed("skip_permissions", bool, False),
        env=_agent_variables(table),
        timeout_s=timeout_s or refuse(f"{table.place} timeout_s must be above 0"),
    )


def _agent_variables(table: Table) -> dict[str, str | Secret]:
    """Variables; those that come from our own or are named like a credential are secrets."""
    variables: dict[str, str | Secret] = {}
    for name, written in table.text_table("env"):
        if not _VARIABLE.fullmatch(name) or "\0" in written:
            refuse(f"{table.place} env.{name} must be the text of a variable, not {written!r:.80}")
        text = resolve(written, table.environment)
        if written.startswith("env:") and not text:
            refuse(f"{table.place} env.{name} names the variable {written[4:]!r}, which is not set")
        is_secret = written.startswith("env:") or _CREDENTIAL.search(name)
        variables[name] = Secret(text) if is_secret else text
    return variables


def _key(name: str, value: object, environment: Environment) -> settings.KeySettings:
    table = Table(value, f"[keys.{name}]", KEY, environment)
    url = table.text("url")
    check_user(url, f"{table.place} url")
    if not is_web_address(url):
        refuse(f"{table.place} needs the url that it is for, such as 'https://api.example.com'")
    token, username, password = map(table.resolved, ("token", "username", "password"))
    headers = list(table.headers())
    secrets = [secret for _, secret in headers]
    if token:
        headers.append(("Authorization", Secret(f"Bearer {token}")))
        secrets.append(Secret(token))
    elif username or password:
        pair = basic(username, password)
        headers.append(("Authorization", Secret(f"Basic {pair}")))
        secrets += [Secret(pair), Secret(password)]
    if not headers and not {"token", "username", "password"} & set(table.values):
        refuse(f"{table.place} needs token, username and password, or headers")
    return settings.KeySettings(name=name, url=url, headers=tuple(headers), secrets=tuple(secrets))


def basic(username: str, password: str) -> str:
    return base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def _connectors(table: Table) -> settings.ConnectorSettings:
    url = table.url(table.text("url"), "such as 'http://127.0.0.1:8080'")
    replies = table.values.get("replies", {})
    if not isinstance(replies, dict):
        refuse("[connectors] replies must be a file, or a table of replies by action")
    try:
        recorded = {str(name): as_json(reply) for name, reply in replies.items()}
    except NotJson as cause:
        refuse(f"[connectors] replies are not JSON: {cause}")
    return settings.ConnectorSettings(url.rstrip("/"), recorded)


def _limits(table: Table) -> dict[str, float]:
    """What bounds a loop that does not say it itself: `iterations`, and `time` in seconds.

    And what bounds every run: `cpu`, the seconds that it may compute.
    """
    limits: dict[str, float] = {}
    iterations = table.count("iterations")
    if iterations is not None:
        limits["iterations"] = iterations
        if iterations > ITERATIONS_MAX:
            refuse(f"[limits] iterations must be at most {ITERATIONS_MAX}, not {iterations}")
    if "time" in table.values:
        seconds = _seconds(table.values["time"]) or 0.0
        if not 0 < seconds <= TIME_MAX_S:
            refuse(f"[limits] time must be a duration up to '24h', not {table.values['time']!r}")
        limits["time"] = seconds
    if "cpu" in table.values:
        seconds = _seconds(table.values["cpu"]) or 0.0
        if not 0 < seconds <= CPU_MAX_S:
            refuse(f"[limits] cpu must be a duration up to '24h', not {table.values['cpu']!r}")
        limits["cpu"] = seconds
    return limits


def _seconds(duration: object) -> float | None:
    try:
        return parse_duration(duration) if isinstance(duration, str | int | float) else None
    except ValueError:
        return None


def _notify(table: Table) -> settings.NotifySettings:
    url = table.url(table.resolved("url"), "an http or https address")
    if table.values and not url:
        refuse("[notify] needs a url, the address that is notified")
    events = get_args(settings.NotifyOn)
    chosen = table.values.get("on", [*events])
    if not isinstance(chosen, list) or not all(name in events for name in chosen):
        refuse(f"[notify] on must be a list of {', '.join(map(repr, events))}")
    return settings.NotifySettings(url, table.headers(), tuple(chosen))


def _retention(table: Table) -> settings.Retention:
    size = table.values.get("max_size")
    parts = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if size is not None and parts is None:
        refuse(f"[retention] max_size must be a size such as '500MB' or '5GB', not {size!r}")
    bytes_max = None if parts is None else int(float(parts[1]) * _UNITS[parts[2].upper()])
    times = (_age(table, "older_than"), _age(table, "audit"))
    return settings.Retention(times[0], table.count("max_runs"), bytes_max, times[1])


def _age(table: Table, name: str) -> float | None:
    age = table.values.get(name)
    seconds = _seconds(age)
    if age is not None and (
        not isinstance(age, str) or _BARE.fullmatch(age.strip()) or seconds is None
    ):
        refuse(f"[retention] {name} must be a time such as '30d' or '12h', not {age!r}")
    return seconds


def _server_settings(table: Table) -> settings.ServerSettings:
    usual = settings.ServerSettings()
    most = table.count("max_concurrent") or usual.max_concurrent
    url = table.url(table.text("url"), "a web address").rstrip("/")
    calls = table.count("hooks_per_minute") or usual.hooks_per_minute
    return settings.ServerSettings(_drain_s(table), most, url, calls)


def _drain_s(table: Table) -> float:
    value = table.values.get("drain", settings.DRAIN_S)
    seconds = None if isinstance(value, bool) else _seconds(value)
    if seconds is None or not 0 <= seconds <= TIME_MAX_S:
        refuse(f"{table.place} drain must be a duration such as '20s', up to '24h', not {value!r}")
    return seconds


# Reads `[runtime]` of a whorl.toml: where runs are driven, and how the cluster is reached.

TEMPORAL = (
    *("address", "namespace", "queue", "tls", "api_key", "values", "encrypt_with", "heartbeat"),
    *("calls_at_once", "grace", "queues", "s3_endpoint", "s3_region", "s3_key", "s3_secret"),
)
_SECONDS_MAX = 86_400.0
# Chooses for a call, whatever the file says.
VARIABLE = "WHORL_RUNTIME"


def runtime_from(section: Table) -> RuntimeSettings:
    kind = section.environment.get(VARIABLE) or section.text("kind") or "local"
    if kind not in ("local", "temporal"):
        place = VARIABLE if section.environment.get(VARIABLE) else "[runtime] kind"
        refuse(f'{place} must be "local" or "temporal", not {kind!r:.40}')
    given = section.values.get("temporal", {})
    table = Table(given, "[runtime.temporal]", TEMPORAL, section.environment)
    usual = TemporalSettings()
    temporal = TemporalSettings(
        address=table.text("address") or usual.address,
        namespace=table.text("namespace") or usual.namespace,
        queue=table.text("queue") or usual.queue,
        tls=table.typed("tls", bool, usual.tls),
        api_key=_secret(table, "api_key"),
        values=table.text("values"),
        encrypt_with=_secret(table, "encrypt_with"),
        heartbeat_s=_bounded_seconds(table, "heartbeat", usual.heartbeat_s),
        calls_at_once=table.count("calls_at_once") or usual.calls_at_once,
        grace_s=_bounded_seconds(table, "grace", usual.grace_s),
        queues=dict(table.text_table("queues")),
        s3_endpoint=table.text("s3_endpoint"),
        s3_region=table.text("s3_region"),
        s3_key=_secret(table, "s3_key"),
        s3_secret=_secret(table, "s3_secret"),
    )
    _check_values(table, temporal)
    return RuntimeSettings("temporal" if kind == "temporal" else "local", temporal)


def _check_values(table: Table, temporal: TemporalSettings) -> None:
    scheme, has_scheme, bucket = temporal.values.partition("://")
    is_bucket = scheme == "s3" and not bucket.startswith("/") and bool(bucket)
    if has_scheme and not is_bucket:
        wanted = 'a folder that all share, or "s3://BUCKET/PREFIX"'
        refuse(f"{table.place} values must be {wanted}, not {temporal.values!r:.80}")
    if bool(temporal.s3_key) != bool(temporal.s3_secret):
        refuse(f"{table.place} s3_key and s3_secret go together")
    given = [name for name in table.values if name.startswith("s3_")]
    if given and not is_bucket:
        refuse(f'{table.place} {given[0]} is for a bucket: set values = "s3://BUCKET/PREFIX"')
    if temporal.s3_endpoint and not temporal.s3_endpoint.startswith(("http://", "https://")):
        refuse(f"{table.place} s3_endpoint must begin with https:// or http://")


def _secret(table: Table, key: str) -> Secret | None:
    text = table.resolved(key)
    if table.text(key) and not text:
        refuse(f"{table.place} {key} names the variable {table.text(key)[4:]!r}, which is not set")
    return Secret(text) if text else None


def _bounded_seconds(table: Table, key: str, usual: float) -> float:
    value = table.values.get(key, usual)
    try:
        is_time = isinstance(value, str | int | float) and not isinstance(value, bool)
        seconds = parse_duration(value) if is_time else -1.0  # type: ignore[arg-type]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _SECONDS_MAX:
        refuse(f"{table.place} {key} must be a duration such as '10s', up to '24h', not {value!r}")
    return seconds


def names_cluster(table: Mapping[str, object]) -> bool:
    """Whether a table says anything about a cluster."""
    section = table.get("runtime")
    return isinstance(section, dict) and bool(section.get("temporal"))


def chosen_kind(table: Mapping[str, object], environment: Mapping[str, str]) -> str:
    """Where runs are driven, of a table that may have mistakes elsewhere."""
    section = table.get("runtime")
    kind = section.get("kind") if isinstance(section, dict) else None
    kind = environment.get(VARIABLE) or kind
    return kind if isinstance(kind, str) else "local"
