"""What we export, taken in by OpenTelemetry's own types and held to its conventions."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from typing import Any

import pytest

from answers import Answering, answering
from waiting import PATIENCE_S

REASON = "the extra `otel` is not installed"
LOOP = """
whorl: 1
name: observed
steps:
  polish:
    repeat:
      until: iteration >= 2
      steps: {draft: {ask: "draft", model: s/m, temperature: 0.5, max_tokens: 50}}
  fails: {ask: "broken", model: s/m}
"""
SETTINGS = """
[providers.s]
kind = "scripted"
model = "m"
replies = [
  {match = "broken", replies = [{status = 400, text = "no"}]},
  {match = ".", replies = ["one two"], exhaust = "repeat"},
]
"""


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The requests that a collector gets of a run, as its own types read them."""
    pytest.importorskip("opentelemetry.sdk", reason=REASON)
    service = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason=REASON
    )
    folder, found = tmp_path_factory.mktemp("observed"), list[Any]()

    class Collector(Answering):
        def do_POST(self) -> None:  # noqa: N802 - its own name
            body = self.rfile.read(int(self.headers["content-length"]))
            is_zipped = self.headers.get("content-encoding") == "gzip"
            request = service.ExportTraceServiceRequest.FromString(
                gzip.decompress(body) if is_zipped else body
            )
            found.append((self.path, self.headers["content-type"], request))
            answer = service.ExportTraceServiceResponse().SerializeToString()
            self.answer(answer, "application/x-protobuf")

    (folder / "whorl.toml").write_text(SETTINGS)
    (folder / "observed.yaml").write_text(LOOP)
    with answering(Collector) as endpoint:
        done = subprocess.run(
            [sys.executable, "-m", "whorl.interfaces.cli", "run", "observed.yaml"],
            cwd=folder,
            env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 1, done.stderr
    assert found, done.stderr
    return found


def spans_of(received: list[Any]) -> list[Any]:
    return [
        span
        for _, _, request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes_of(span: Any) -> dict[str, Any]:
    """The attributes with the type that each has on the wire; a name must not stand there twice."""
    found = {item.key: item.value for item in span.attributes}
    assert len(found) == len(span.attributes)
    return found


def test_requests_are_those_of_the_protocol(received: list[Any]) -> None:
    for path, kind, request in received:
        assert (path, kind) == ("/v1/traces", "application/x-protobuf")
        for resource in request.resource_spans:
            named = attributes_of(resource.resource)
            assert named["service.name"].string_value == "whorl"
            assert named["telemetry.sdk.language"].string_value == "python"
            assert [scope.scope.name for scope in resource.scope_spans] == ["whorl"]


def test_spans_are_one_tree_in_which_each_lies_within_its_parent(received: list[Any]) -> None:
    spans = {span.span_id: span for span in spans_of(received)}
    roots = [span for span in spans.values() if not span.parent_span_id]

    assert [root.name for root in roots] == ["whorl run"]
    assert len({span.trace_id for span in spans.values()}) == 1
    for span in spans.values():
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = spans[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano


def test_calls_of_models_follow_the_conventions(received: list[Any]) -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    known = {name for name in vars(gen_ai_attributes).values() if isinstance(name, str)}
    calls = [s for s in spans_of(received) if "gen_ai.operation.name" in attributes_of(s)]
    types = {
        "gen_ai.operation.name": "string_value",
        "gen_ai.provider.name": "string_value",
        "gen_ai.request.model": "string_value",
        "gen_ai.response.model": "string_value",
        "gen_ai.request.temperature": "double_value",
        "gen_ai.request.max_tokens": "int_value",
        "gen_ai.usage.input_tokens": "int_value",
        "gen_ai.usage.output_tokens": "int_value",
        "gen_ai.response.finish_reasons": "array_value",
    }

    assert len(calls) == 3
    for span in spans_of(received):
        for name, value in attributes_of(span).items():
            if name.startswith("gen_ai."):
                assert name in known
                assert value.WhichOneof("value") == types[name]
    for call in calls:
        named = attributes_of(call)
        assert call.name == f"chat {named['gen_ai.request.model'].string_value}"
        assert named["gen_ai.operation.name"].string_value == "chat"
    done = attributes_of(calls[0])
    assert set(types) - set(done) == set()


def test_what_failed_is_an_error_with_its_type(received: list[Any]) -> None:
    from opentelemetry.proto.trace.v1.trace_pb2 import Status
    from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

    failed = [s for s in spans_of(received) if s.status.code == Status.STATUS_CODE_ERROR]

    types = {span.name: attributes_of(span)[ERROR_TYPE].string_value for span in failed}
    assert types == {"chat s/m": "P104", "whorl run": "R100"}
    assert all(span.status.message for span in failed)
