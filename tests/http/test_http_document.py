"""The OpenAPI document, the page's files, and the command that serves them."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from served import TOKEN, running, serving_process

from waiting import PATIENCE_S
from whorl.errors import UsageError
from whorl.interfaces.http import app as pages
from whorl.interfaces.http.app import openapi_text
from whorl.interfaces.http.auth import bits_of, read_token
from whorl.interfaces.http.server import ListenOptions, check_place

if TYPE_CHECKING:
    from served import Spawn

ROOT = Path(__file__).parent.parent.parent


def test_the_document_in_the_repository_is_fresh() -> None:
    """`python -m whorl.interfaces.http.app` writes it; the page's types are made of it."""
    assert (ROOT / "web" / "openapi.json").read_text("utf-8") == openapi_text()


def test_exactly_the_files_of_the_page_are_served(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("web")
    (folder / "assets").mkdir()
    (folder / "secret.txt").write_text("no")
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets" / "app-1a2b.js").write_text("let a = 1")
    (folder / "assets" / "app.bin").write_text("no")
    (folder / "assets" / "link.js").symlink_to(folder / "secret.txt")
    monkeypatch.setattr(pages, "FOLDER", folder)
    with running(project) as server, httpx2.Client(base_url=server.address) as client:
        page, script = client.get("/"), client.get("/assets/app-1a2b.js")
        (folder / "index.html").unlink()
        without = client.get("/").status_code
        tag = {"If-None-Match": script.headers["etag"]}
        again = client.get("/assets/app-1a2b.js", headers=tag)
        (folder / "assets" / "app-1a2b.js").write_text("let a = 2")
        changed = client.get("/assets/app-1a2b.js", headers=tag)
        others = [
            client.get(f"/assets/{name}").status_code
            for name in ("app.bin", "link.js", "secret.txt", "APP-1A2B.js", "none.js")
        ]

    assert "<title>page</title>" in page.text
    assert without == 404
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert (again.status_code, again.content) == (304, b"")
    assert (changed.status_code, changed.text) == (200, "let a = 2")
    assert others == [404] * 5


@pytest.mark.threat(row="T12")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(UsageError, match="token") as caught:
        check_place(ListenOptions(host=host))

    assert caught.value.code == "W906"
    assert "encrypted" in check_place(ListenOptions(host=host, token=TOKEN))[0]
    assert check_place(ListenOptions(host=host, token=TOKEN, behind_proxy=True)) == []


@pytest.mark.threat(row="T12")
def test_loopback_needs_no_token_of_the_operator() -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        assert check_place(ListenOptions(host=host)) == []


@pytest.mark.threat(row="T12")
@pytest.mark.parametrize(
    "token",
    ["", "short", "a" * 64, "0123456789abcdef", "with space in it, but quite long", "é" * 40],
)
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token)

    with pytest.raises(UsageError) as caught:
        read_token(tmp_path / "token")
    assert caught.value.code == "W906"


def test_a_good_token_is_read_and_its_file_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{'0123456789abcdef' * 2}\n")
    path.chmod(0o600)
    assert read_token(path) == ("0123456789abcdef" * 2, [])
    path.chmod(0o644)
    assert "chmod 600" in read_token(path)[1][0]
    assert bits_of("0123456789abcdef" * 2) == 128
    with pytest.raises(UsageError):
        read_token(tmp_path / "none")


def test_serve_prints_a_link_that_carries_the_token_and_ends_in_good_order(
    project: Path, spawn: Spawn
) -> None:
    process, client = serving_process(spawn)
    token = client.http.headers["Authorization"].partition(" ")[2]
    run = client.start("slow.yaml")
    client.turns(run)
    client.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out) == (0, "")
    assert "the next server resumes the runs" in err
    assert token not in err
    assert len(token) >= 43
    shown = spawn("show", "--brief", run, "--json").communicate(timeout=PATIENCE_S)[0]
    assert json.loads(shown)["status"] == "interrupted"


@pytest.mark.threat(row="T12")
def test_serve_refuses_an_open_address_without_a_token_and_a_port_that_is_taken(
    project: Path, spawn: Spawn
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words, told in (
            (("--host", "0.0.0.0", "--port", "0"), "error[W906]"),
            (("--port", port), "--port 0"),
        ):
            process = spawn("serve", *words, "--no-open")
            _, err = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, told in err) == (2, True), err
