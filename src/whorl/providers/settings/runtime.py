"""Reads `[runtime]` of a whorl.toml: where runs are driven, and how the cluster is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.values import parse_duration
from whorl.providers.redaction import Secret
from whorl.providers.settings import RuntimeSettings, TemporalSettings
from whorl.providers.settings.tables import Table, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        heartbeat_s=_seconds(table, "heartbeat", usual.heartbeat_s),
        calls_at_once=table.count("calls_at_once") or usual.calls_at_once,
        grace_s=_seconds(table, "grace", usual.grace_s),
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


def _seconds(table: Table, key: str, usual: float) -> float:
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
