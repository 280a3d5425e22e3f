"""What is asked for again: a body only where there is something new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from served import Client


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs",
        "/api/experiments",
        "/api/workflows",
        "/api/workflows/etag?file=polish.yaml",
    ],
)
def test_what_is_known_is_not_sent_again(shared: Client, path: str) -> None:
    first = shared.http.get(path)

    again = shared.http.get(path, headers={"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-type" not in again.headers


@pytest.mark.slow
def test_what_is_new_is_sent_with_a_new_tag(client: Client) -> None:
    before = client.http.get("/api/runs").headers["etag"]
    run = client.start("polish.yaml", inputs={"task": "a haiku"})
    client.wait(run)

    after = client.http.get("/api/runs", headers={"If-None-Match": before})

    assert after.status_code == 200
    assert after.headers["etag"] != before
    assert [row["id"] for row in after.json()["runs"]] == [run]


def test_refusals_and_streams_have_no_tag(shared: Client) -> None:
    run = shared.start("polish.yaml", inputs={"task": "a haiku"})
    shared.wait(run)

    refused = shared.http.get("/api/runs/nothing")
    accept = {"Accept": "text/event-stream"}
    with shared.http.stream("GET", f"/api/runs/{run}/events", headers=accept) as stream:
        headers = stream.headers

    assert refused.status_code == 404
    assert "etag" not in refused.headers
    assert headers["content-type"].startswith("text/event-stream")
    assert "etag" not in headers
