"""OpenTelemetry: a run as spans, made of its journal's entries as they become durable.

A run, its loops and their iterations are spans of their own, with exit reason and score; calls of
models follow the GenAI conventions. Used where `OTEL_EXPORTER_OTLP_ENDPOINT` is set and the extra
`otel` is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.interpreter.events import split_iteration
from whorl.runtimes.projection import LoopFold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from whorl.errors import StoreError
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import Entry, RunId

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_MODEL_KINDS = frozenset({"ask", "judge"})
_ENDS = frozenset({"task.finished", "task.failed"})


class Telemetry:
    """A watcher that turns entries into spans."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("whorl")
        self._spans: dict[tuple[RunId, str], Span] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Opens and closes spans."""
        for entry in entries:
            self._take(run, entry.event)

    def text(self, run: RunId, address: str, text: str) -> None:
        """Streamed text is not traced."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Marks that the run could not be journaled for a while."""
        self._root(run, 0.0).add_event("store.trouble", {"message": str(fault)})

    def close(self) -> None:
        """Ends what is open, and sends what is left."""
        for key in list(self._spans):
            self._spans.pop(key).end()
        self._provider.shutdown()

    def _take(self, run: RunId, event: Event) -> None:
        kind, address = event.kind, event.address
        if kind == "run.started":
            self._root(run, event.at)
        elif kind == "loop.started":
            self._open(run, event, f"loop {address}", {"whorl.loop.path": event.body.get("path")})
        elif kind == "iteration.started":
            self._open(
                run, event, f"iteration {address}", {"whorl.iteration": event.body["number"]}
            )
        elif kind == "task.started":
            self._open(run, event, _call_name(event), _call_start(event))
        elif kind in _ENDS:
            if (run, address) not in self._spans:
                self._open(run, event, f"task {address}", {})
            self._close(run, event, _call_end(event), failed=kind == "task.failed")
        elif kind == "iteration.finished":
            self._close(run, event, _iteration(event), failed=event.body["status"] == "failed")
        elif kind == "loop.finished":
            self._close(run, event, _loop(event), failed="error" in event.body)
        elif kind == "run.finished":
            end = {"whorl.run.status": event.body["status"]}
            self._close(run, event, end, failed=event.body["status"] == "failed")

    def _root(self, run: RunId, at: float) -> Span:
        key = (run, "")
        if key not in self._spans:
            self._spans[key] = self._tracer.start_span(
                "whorl run", attributes={"whorl.run.id": run}, start_time=_nanoseconds(at)
            )
        return self._spans[key]

    def _open(self, run: RunId, event: Event, name: str, told: Mapping[str, Any]) -> None:
        from opentelemetry.trace import set_span_in_context

        attributes = {"whorl.run.id": run, "whorl.address": event.address} | _present(told)
        self._spans[(run, event.address)] = self._tracer.start_span(
            name,
            context=set_span_in_context(self._above(run, event)),
            attributes=attributes,
            start_time=_nanoseconds(event.at),
        )

    def _above(self, run: RunId, event: Event) -> Span:
        """The innermost open span around an address: its iteration, its loop, or the run."""
        address = event.address
        while address:
            loop, number = split_iteration(address)
            address = loop if number is not None else address.rpartition("/")[0]
            if (run, address) in self._spans:
                return self._spans[(run, address)]
        return self._root(run, event.at)

    def _close(self, run: RunId, event: Event, told: Mapping[str, Any], *, failed: bool) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._spans.pop((run, event.address), None)
        if span is None:
            return
        span.set_attributes(_present(told))
        if failed:
            cause: Any = event.body.get("error") or {}
            span.set_status(Status(StatusCode.ERROR, str(cause.get("message", ""))))
            span.set_attribute("error.type", str(cause.get("code", "")))
        span.end(end_time=_nanoseconds(event.at))


def telemetry_from(environment: Mapping[str, str]) -> Telemetry | None:
    """The exporter that the environment asks for, if it asks for one."""
    if not environment.get(ENDPOINT):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise UsageError(
            f"{ENDPOINT} is set, and OpenTelemetry is not installed",
            help="install the extra, in the folder of Whorl's source: .venv/bin/python -m pip "
            "install -e '.[otel]'; or unset the variable",
        ) from error
    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME", "whorl")})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Telemetry(provider)


def _call_name(event: Event) -> str:
    if event.body.get("kind") in _MODEL_KINDS:
        inputs: Any = event.body.get("inputs") or {}
        return f"chat {inputs.get('model') or 'default'}"
    return f"{event.body.get('kind')} {event.address}"


def _call_start(event: Event) -> dict[str, Any]:
    told: dict[str, Any] = {"whorl.task.kind": event.body.get("kind")}
    if event.body.get("kind") in _MODEL_KINDS:
        inputs: Any = event.body.get("inputs") or {}
        told |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": inputs.get("model"),
            "gen_ai.request.temperature": inputs.get("temperature"),
            "gen_ai.request.max_tokens": inputs.get("max_tokens"),
        }
    return told


def _call_end(event: Event) -> dict[str, Any]:
    usage: Any = event.body.get("usage") or {}
    told: dict[str, Any] = {
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        "whorl.cost_usd": usage.get("cost_usd"),
    }
    if event.body.get("model"):
        told["gen_ai.response.model"] = event.body["model"]
        told["gen_ai.provider.name"] = event.body.get("provider")
    finish = event.body.get("finish_reason")
    if finish:
        told["gen_ai.response.finish_reasons"] = [str(finish)]
    return told


def _iteration(event: Event) -> dict[str, Any]:
    body = event.body
    return {
        "whorl.iteration.status": body["status"],
        "whorl.score": body.get("score"),
        "whorl.iteration.best": body.get("best"),
        "whorl.stopped_by": body.get("by"),
    }


def _loop(event: Event) -> dict[str, Any]:
    loop = LoopFold(event.address)
    loop.take(event)
    row = loop.row()
    return {
        "whorl.loop.iterations": row.iterations,
        "whorl.exit_reason": row.exit_reason or None,
        "whorl.stopped_by": row.stopped_by or None,
        "whorl.score": row.score,
        "whorl.loop.best_iteration": row.best_iteration,
        "whorl.loop.returned_iteration": row.returned_iteration,
    }


def _present(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool | int | float | str | list) else str(value)
        for name, value in told.items()
        if value is not None
    }


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)
