"""Reports runs: by notifications to the operator's address, by OpenTelemetry to a collector, and
as metrics in the text format of Prometheus.

If a notification cannot be delivered, it is logged; the run continues. In a trace a run, its loops
and their iterations are spans of their own, with exit reason and score; calls of models follow the
GenAI conventions. Traces are made if `OTEL_EXPORTER_OTLP_ENDPOINT` is set and the extra `otel` is
installed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl.errors import ProviderError, StoreError, UsageError, safe
from whorl.interpreter.events import Event, split_iteration
from whorl.providers.outbound.addresses import Policy, origin_of
from whorl.providers.outbound.client import Credential, Outbound, OutboundCall
from whorl.runtimes.journal.journal import amount_of, count_of, text_of
from whorl.runtimes.journal.projection import UNKNOWN, LoopFold, model_named
from whorl.runtimes.runtime import Watcher
from whorl.services.inspecting.results import open_gates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from whorl.language import Json
    from whorl.providers.redaction import Secret
    from whorl.providers.settings import NotifySettings
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore

TIMEOUT_S = 10.0
TRY_AGAIN_S = 1.0
PENDING_MAX = 100
_MESSAGE_MAX = 2_000
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_CALL = {
    "gen_ai.usage.input_tokens": "usage.input_tokens",
    "gen_ai.usage.output_tokens": "usage.output_tokens",
    "whorl.cost_usd": "usage.cost_usd",
    "gen_ai.response.model": "model",
    "gen_ai.provider.name": "provider",
}
# The attributes of a span by the kind of the event, each with its place in the event's body.
_ATTRIBUTES = {
    "loop.started": {"whorl.loop.path": "path"},
    "iteration.started": {"whorl.iteration": "number"},
    "task.started": {"whorl.task.kind": "kind"},
    "chat": {
        "gen_ai.request.model": "inputs.model",
        "gen_ai.request.temperature": "inputs.temperature",
        "gen_ai.request.max_tokens": "inputs.max_tokens",
    },
    "task.finished": _CALL,
    "task.failed": _CALL,
    "iteration.finished": {
        "whorl.iteration.status": "status",
        "whorl.score": "score",
        "whorl.iteration.best": "best",
        "whorl.stopped_by": "by",
    },
    "loop.finished": {
        "whorl.loop.iterations": "iterations",
        "whorl.exit_reason": "exit_reason",
        "whorl.stopped_by": "stopped_by",
        "whorl.score": "score",
        "whorl.loop.best_iteration": "best_iteration",
        "whorl.loop.returned_iteration": "returned_iteration",
    },
    "run.finished": {"whorl.run.status": "status"},
}

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OTHER: Final = "other"
# How many workflows and how many models are told apart.
NAMES_MAX: Final = 100
_NAME_LENGTH_MAX: Final = 100
_CALLS_MAX: Final = 20_000
_CALL_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_RUN_S: Final = (0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)

log = logging.getLogger("whorl.notify")


class Notifier(Watcher):
    """A watcher that sends a POST for events that a person wants to know."""

    def __init__(
        self, settings: NotifySettings, store: SqliteStore, secrets: tuple[Secret, ...] = ()
    ) -> None:
        self._settings = settings
        self._store = store
        origin = origin_of(settings.url)
        # The address is the operator's own, so it may be a private one.
        self._outbound = Outbound(Policy(origins=frozenset({origin})), secrets=secrets)
        self._credential = Credential(origin, settings.headers) if settings.headers else None
        self._sending: set[asyncio.Task[None]] = set()

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Sends the last notable entry of a batch."""
        notice: dict[str, Json] | None = None
        for entry in entries:
            event = entry.event
            body: dict[str, Any] = event.body
            message: str | None = None
            if event.kind == "run.waiting" and body.get("status", "waiting") == "waiting":
                name = status = "waiting"
            elif event.kind == "run.finished":
                status, error = str(body.get("status", "failed")), body.get("error")
                name = "failed" if status == "failed" else "ended"
                if isinstance(error, dict):
                    message = str(error.get("message", ""))[:_MESSAGE_MAX]
            else:
                continue
            notice = {"event": name, "status": status, "message": message}
            notice |= {"run": run, "seq": entry.seq, "at": event.at}
        if notice is None or notice["event"] not in self._settings.on:
            return
        if len(self._sending) >= PENDING_MAX:
            log.warning("run %s: no notification, since too many are being sent", run)
            return
        task = asyncio.create_task(self._send(run, notice))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending, timeout=TIMEOUT_S + TRY_AGAIN_S)
        await self._outbound.close()

    async def _send(self, run: RunId, notice: dict[str, Json]) -> None:
        try:
            notice |= await asyncio.to_thread(self._about, run, notice["event"] == "waiting")
            call = OutboundCall(
                method="POST",
                url=self._settings.url,
                headers=(("content-type", "application/json"),),
                body=json.dumps(notice, ensure_ascii=False).encode("utf-8", "replace"),
                credential=self._credential,
                timeout_s=TIMEOUT_S,
                of_operator=True,
            )
            try:
                await self._outbound.request(call, check_status=True)
            except ProviderError as fault:
                if not fault.retryable:
                    raise
                await asyncio.sleep(TRY_AGAIN_S)
                await self._outbound.request(call, check_status=True)
        except (UsageError, StoreError, ProviderError) as fault:
            log.warning("run %s: the notification failed: %s", run, safe(str(fault)))

    def _about(self, run: RunId, is_waiting: bool) -> dict[str, Json]:
        row = self._store.run(run)
        about: dict[str, Json] = {"workflow": row.name, "file": row.file, "cost_usd": row.known_usd}
        gates = open_gates(self._store, run) if is_waiting else []
        if gates:
            about |= {"address": gates[0].address, "message": gates[0].message[:_MESSAGE_MAX]}
        return about


class Telemetry(Watcher):
    """A watcher that turns entries into spans, as they become durable."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("whorl")
        self._spans: dict[tuple[RunId, str], Span] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in entries:
            self._take(run, entry.event)

    def close(self) -> None:
        for key in list(self._spans):
            self._spans.pop(key).end()
        self._provider.shutdown()

    def _take(self, run: RunId, event: Event) -> None:
        kind, address, body = event.kind, event.address, event.body
        if kind == "run.started":
            self._root(run, event.at)
        elif kind in ("loop.started", "iteration.started"):
            self._open(run, event, f"{kind.partition('.')[0]} {address}", _attributes(kind, body))
        elif kind == "task.started":
            name, attributes = f"{body.get('kind')} {address}", _attributes(kind, body)
            if body.get("kind") in ("ask", "judge"):
                chat = _attributes("chat", body)
                name = f"chat {chat.get('gen_ai.request.model') or 'default'}"
                attributes |= {"gen_ai.operation.name": "chat", **chat}
            self._open(run, event, name, attributes)
        elif kind in ("task.finished", "task.failed"):
            if (run, address) not in self._spans:
                self._open(run, event, f"task {address}", {})
            attributes = _attributes(kind, body)
            # A model's name begins with its provider's.
            provider, has_model, _ = str(body.get("model") or "").partition("/")
            if has_model:
                attributes.setdefault("gen_ai.provider.name", provider)
            if body.get("finish"):
                attributes["gen_ai.response.finish_reasons"] = [str(body["finish"])]
            self._close(run, event, attributes, failed=kind == "task.failed")
        elif kind == "loop.finished":
            loop = LoopFold(address)
            loop.take(event)
            self._close(run, event, _attributes(kind, asdict(loop.row())), failed="error" in body)
        elif kind in ("iteration.finished", "run.finished"):
            self._close(run, event, _attributes(kind, body), failed=body["status"] == "failed")

    def _root(self, run: RunId, at: float) -> Span:
        key = (run, "")
        if key not in self._spans:
            self._spans[key] = self._tracer.start_span(
                "whorl run", attributes={"whorl.run.id": run}, start_time=_nanoseconds(at)
            )
        return self._spans[key]

    def _open(self, run: RunId, event: Event, name: str, attributes: dict[str, Any]) -> None:
        from opentelemetry.trace import set_span_in_context

        # The innermost open span around the address: its iteration, its loop, or the run.
        address, above = event.address, None
        while address and above is None:
            loop, number = split_iteration(address)
            address = loop if number is not None else address.rpartition("/")[0]
            above = self._spans.get((run, address))
        self._spans[(run, event.address)] = self._tracer.start_span(
            name,
            context=set_span_in_context(above or self._root(run, event.at)),
            attributes={"whorl.run.id": run, "whorl.address": event.address, **attributes},
            start_time=_nanoseconds(event.at),
        )

    def _close(self, run: RunId, event: Event, attributes: dict[str, Any], *, failed: bool) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._spans.pop((run, event.address), None)
        if span is None:
            return
        span.set_attributes(attributes)
        if failed:
            cause: Any = event.body.get("error") or {}
            span.set_status(Status(StatusCode.ERROR, str(cause.get("message", ""))))
            span.set_attribute("error.type", str(cause.get("code", "")))
        span.end(end_time=_nanoseconds(event.at))


def telemetry_from(environment: Mapping[str, str]) -> Telemetry:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        words = "install the extra, in the folder of Whorl's source: .venv/bin/python -m pip "
        words += "install -e '.[otel]'; or unset the variable"
        message = f"{ENDPOINT} is set, and OpenTelemetry is not installed"
        raise UsageError(message, help=words) from error
    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME", "whorl")})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Telemetry(provider)


def _attributes(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {}
    for name, path in _ATTRIBUTES[kind].items():
        value: Any = body
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and value != "":
            is_plain = isinstance(value, bool | int | float | str | list)
            attributes[name] = value if is_plain else str(value)
    return attributes


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)


@dataclass(slots=True)
class Family:
    """A metric: its description and its values by labels; with `bounds` it is a histogram."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    words: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    values: dict[tuple[str, ...], float] = field(default_factory=dict)
    # How many values are at most each bound, and above all of them.
    counts: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def add(self, amount: float, *labels: str) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + amount

    def observe(self, amount: float, *labels: str) -> None:
        self.add(amount, *labels)
        counts = self.counts.setdefault(labels, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, amount)] += 1

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.words}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.values.items():
            named = dict(zip(self.labels, labels, strict=True))
            if not self.bounds:
                yield f"{self.name}{_label_text(named)} {value!r}"
                continue
            reached = 0
            for bound, count in zip((*self.bounds, "+Inf"), self.counts[labels], strict=True):
                reached += count
                yield f"{self.name}_bucket{_label_text({**named, 'le': str(bound)})} {reached}"
            yield f"{self.name}_sum{_label_text(named)} {value!r}"
            yield f"{self.name}_count{_label_text(named)} {reached}"


_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def _label_text(labels: dict[str, str]) -> str:
    words = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{words}}}" if words else ""


def _counter(name: str, words: str, *labels: str) -> Family:
    return Family(name, "counter", words, labels)


def text_of_families(families: Iterable[Family]) -> str:
    return "".join(f"{line}\n" for family in families for line in family.lines())


class Metrics:
    """Counts entries as they become durable; the cost does not grow with the journal.

    The number of workflow and model names is limited: all further names count as `other`.
    """

    def __init__(self) -> None:
        own, model = "workflow", "model"
        self.runs = _counter("whorl_runs_ended_total", "Runs that ended here.", own, "status")
        took = "From the start of runs to their end, waits included."
        self.seconds = Family("whorl_run_seconds", "histogram", took, (own,), _RUN_S)
        self.iterations = _counter("whorl_iterations_total", "Iterations of loops.", own)
        why = "Loops by why they ended."
        self.exits = _counter("whorl_loops_ended_total", why, own, "reason")
        answered = "Calls that were answered."
        self.calls = _counter("whorl_calls_total", answered, model, "outcome")
        self.doubts = _counter("whorl_calls_in_doubt_total", "Calls whose outcome is unknown.")
        took = "How long calls took."
        self.latency = Family("whorl_call_seconds", "histogram", took, ("kind",), _CALL_S)
        self.tokens = _counter("whorl_tokens_total", "Tokens.", model, "direction")
        self.cost = _counter("whorl_cost_usd_total", "Dollars of calls.", model)
        self._names: dict[str, set[str]] = {}
        self._began: dict[tuple[RunId, str], tuple[float, str]] = {}

    def families(self) -> list[Family]:
        return [each for each in vars(self).values() if isinstance(each, Family)]

    def bounded(self, label: str, name: str) -> str:
        """Returns the name, or `other` if there are too many names already."""
        known, name = self._names.setdefault(label, set()), name[:_NAME_LENGTH_MAX]
        if name not in known and len(known) >= NAMES_MAX:
            return OTHER
        known.add(name)
        return name

    def take(self, run: RunId, entries: list[Entry], runtime: Runtime) -> None:
        """Counts entries of a run that the runtime drives."""
        for entry in entries:
            event = entry.event
            match event.kind:
                case "task.started":
                    self._began[run, event.address] = (event.at, text_of(event.body.get("kind")))
                    if len(self._began) > _CALLS_MAX:
                        del self._began[next(iter(self._began))]
                case "task.finished" | "task.failed":
                    self._take_reply(run, event)
                case "task.in_doubt":
                    self.doubts.add(1)
                case "iteration.finished":
                    self.iterations.add(1, self._workflow(runtime, run))
                case "loop.finished":
                    reason = text_of(event.body.get("exit_reason")) or OTHER
                    self.exits.add(1, self._workflow(runtime, run), self.bounded("reason", reason))
                case "run.finished":
                    name = self._workflow(runtime, run)
                    self.runs.add(1, name, text_of(event.body.get("status")) or "failed")
                    took_s = event.at - runtime.store.run(run).created_at
                    self.seconds.observe(max(0.0, took_s), name)

    def _workflow(self, runtime: Runtime, run: RunId) -> str:
        return self.bounded("workflow", runtime.plan(run).workflow.name)

    def _take_reply(self, run: RunId, event: Event) -> None:
        body, began = event.body, self._began.pop((run, event.address), None)
        if began is not None:
            kind = self.bounded("kind", began[1])
            self.latency.observe(max(0.0, event.at - began[0]), kind)
        usage: Any = body.get("usage")
        if not isinstance(usage, dict) or not (calls := count_of(usage.get("calls"))):
            return
        model = self.bounded("model", model_named(body) or UNKNOWN)
        self.calls.add(calls, model, "failed" if event.kind == "task.failed" else "answered")
        for direction in ("input", "output"):
            if tokens := count_of(usage.get(f"{direction}_tokens")):
                self.tokens.add(tokens, model, direction)
        if cost := amount_of(usage.get("cost_usd")):
            self.cost.add(cost, model)
