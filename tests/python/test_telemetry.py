"""A run as OpenTelemetry spans: sent over HTTP to a collector, and looked at in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.project import find_project
from whorl.services.runs import ProviderWorkers

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")

ROOT = Path(__file__).parents[2]


def spans_of_the_example(folder: Path) -> dict[str, Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from whorl.services.serving.watchers import Telemetry

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = Telemetry(provider)

    async def work() -> None:
        project = find_project({}, folder=folder, config=str(ROOT / "examples" / "demo.toml"))
        providers = Providers(project.settings())
        workflow = read_workflow((ROOT / "examples" / "polish.yaml").read_text(), "p.yaml").workflow
        async with SqliteStore(folder / "runs.db") as store:
            runtime = LocalRuntime(store, ProviderWorkers(providers), watcher=telemetry)
            run, _ = await runtime.start(workflow, Start({"task": "a haiku about rain"}))
            # The first entry is made before anybody watches; the root span begins with the next.
            assert await runtime.drive(run) == "succeeded"
        await providers.close()

    asyncio.run(work())
    return {span.name: span for span in kept.get_finished_spans()}


def test_run_loop_iteration_and_call_are_nested_spans(tmp_path: Path) -> None:
    spans = spans_of_the_example(tmp_path)
    iteration = spans["iteration polish[3]"]
    loop = spans["loop polish"]

    assert loop.parent.span_id == spans["whorl run"].context.span_id
    assert iteration.parent.span_id == loop.context.span_id
    assert loop.attributes["whorl.exit_reason"] == "condition_met"
    assert loop.attributes["whorl.loop.iterations"] == 3
    assert iteration.attributes["whorl.score"] == 0.93
    call = next(span for name, span in spans.items() if name.startswith("chat"))
    assert call.attributes["gen_ai.operation.name"] == "chat"
    assert call.attributes["gen_ai.usage.output_tokens"] > 0
    assert call.attributes["gen_ai.response.model"]
    assert call.attributes["gen_ai.provider.name"]
    assert call.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert spans["whorl run"].attributes["whorl.run.status"] == "succeeded"
