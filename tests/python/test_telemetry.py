"""A run as OpenTelemetry spans: sent over HTTP to a collector, and looked at in memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start
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


def test_spans_reach_a_collector_over_http(tmp_path: Path) -> None:
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, WHORL_HOME=str(tmp_path))
    environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
    words = ["run", str(ROOT / "examples/polish.yaml"), "a haiku about rain"]
    words += ["--config", str(ROOT / "examples/demo.toml")]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "whorl.interfaces.cli", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()

    assert done.returncode == 0, done.stderr
    assert any(b"iteration polish[3]" in body for body in bodies)
