"""Canvases on a real store with real providers: files, commands, schemas, single iterations."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from studio_files import canvas, node, whorl_says, without_keys

import whorl
from whorl.errors import ProviderError
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

if TYPE_CHECKING:
    from pathlib import Path


CONFIG = """
[defaults]
provider = "canned"
model = "m"
[providers.canned]
kind = "scripted"
[[providers.canned.replies]]
match = "."
by = "iteration"
replies = ["one", "two", "three"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return without_keys(tmp_path, monkeypatch, CONFIG)


def run(place: Path, text: str, **given: Any) -> whorl.Result:
    (place / "canvas.json").write_text(text)
    return whorl.run_sync(whorl.load(place / "canvas.json"), given or {"topic": "t"})


def test_json_and_tables_are_read_and_files_have_other_handles(place: Path) -> None:
    (place / "a.json").write_text('{"n": [1, 2]}')
    (place / "b.csv").write_text("name\nAnn\n")
    shown = "{{a.content.n[1]}} {{b.output[0].name}} {{paths}} {{rows}} {{bytes}}"
    nodes = [
        node("a", "file_read", path="a.json", mode="json"),
        node("b", "file_read", path="b.csv", mode="csv"),
        node("find", "file_glob", directory=".", pattern="*.csv"),
        node("save", "file_write", path="{{workspace}}/b.txt", content="four"),
        node("show", "transform", template=shown),
    ]
    begins = [f"in > {name}.none" for name in ("a", "b", "find", "save")]
    handles = ("a > show.a", "b > show.b", "find.paths > show.paths", "b.rows > show.rows")
    text = canvas(nodes, *begins, *handles, "save.bytes > show.bytes", "show > out")

    assert run(place, text).output == '2 Ann ["b.csv"] [{"name": "Ann"}] 4'
    assert [path.read_text() for path in place.glob(".whorl/work/*/b.txt")] == ["four"]


def test_a_command_reads_what_comes_in_at_stdin_and_may_end_with_any_code(place: Path) -> None:
    upper = node("up", "shell_exec", command="tr a-z A-Z")
    up = canvas([upper], "in > up.stdin", "up.stdout > out")
    say = canvas([node("say", "shell_exec", command='echo "[{{topic}}]"; exit 3', workingDir=".")],
                 "in > say > out")  # fmt: skip
    refused = run(place, say, topic="$(id); x")
    (place / "whorl.toml").write_text(f"{CONFIG}\n[allow]\ncommands = true\n")
    said = {"stdout": "[$(id); x]\n", "stderr": "", "exit_code": 3}

    assert (refused.status, "not allowed" in str(refused.error)) == ("failed", True)
    assert run(place, up, topic="bees").output == "BEES"
    assert run(place, say, topic="$(id); x").output == said


def test_a_validator_reports_what_does_not_fit_its_schema(place: Path) -> None:
    schema = json.dumps({"type": "object", "required": ["n"]})
    lenient, strict = (
        canvas([node("check", "validator", schema=schema, failOnError=fails)], "in > check > out")
        for fails in (False, True)
    )

    good = run(place, strict, topic='{"n": 1}')
    bad = run(place, lenient, topic="{}")
    failed = run(place, strict, topic="{}")

    assert good.output == {"valid": True, "data": {"n": 1}, "errors": []}
    assert isinstance(bad.output, dict)
    assert (bad.output["valid"], bad.status) == (False, "succeeded")
    assert failed.status == "failed"
    assert "'check' refuses its input" in str(failed.error)


LOOP = canvas(
    [node("turn", "loop", maxIterations=3), node("draft", "llm"), node("leave", "exit")],
    "in > turn > draft > leave > out",
)


def test_single_iterations_are_inspected_and_replayed(place: Path) -> None:
    result = run(place, LOOP)

    assert "two" in whorl_says(place, "show", f"{result.run}/turn[2]/draft")
    forked = json.loads(whorl_says(place, "fork", result.run, "--at", "turn[2]", "--json"))
    assert forked["outputs"] == {"text": "three"}
    assert forked["usage"]["calls"] == 2
    accepted = json.loads(whorl_says(place, "accept", result.run, "--iteration", "1", "--json"))
    assert accepted["outputs"] == {"text": "one"}


def test_an_iteration_is_announced_with_its_input(place: Path) -> None:
    (place / "canvas.json").write_text(LOOP)
    printed = whorl_says(place, "run", "canvas.json", "a topic", "--events")
    events = [json.loads(line) for line in printed.splitlines()]
    started = [event for event in events if event["kind"] == "iteration.started"]

    told = [(event["body"]["number"], event["body"]["input"]) for event in started]
    assert told == [(1, "a topic"), (2, "one"), (3, "two")]


def perform(root: Path, kind: str, **inputs: Any) -> Any:
    allow = {"allow": {"files": {"write": ["**"]}}}
    settings = settings_from(allow, {}, project_root=str(root))
    request = Request("r", "a", kind, inputs)

    async def main() -> Any:
        providers = Providers(settings)
        try:
            return (await providers.kind(kind).perform(request, lambda _: None)).value
        finally:
            await providers.close()

    return asyncio.run(main())


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "~/x", "a\\b", "file:///etc/passwd", "a\0b", "%2e%2e/x", "link"]
)
def test_files_outside_of_the_project_are_out_of_reach(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "secret").write_text("s")
    (root / "link").symlink_to(tmp_path / "secret")

    for kind in ("file_read", "file_write"):
        with pytest.raises(ProviderError) as refused:
            perform(root, kind, path=path, content="x")
        assert refused.value.code == "P113"
    assert (tmp_path / "secret").read_text() == "s"


def test_ways_to_write(tmp_path: Path) -> None:
    wrote = perform(tmp_path, "file_write", path="d/a.txt", content="x")
    assert wrote == {"path": "d/a.txt", "size": 1}
    perform(tmp_path, "file_write", path="d/a.txt", content="y", write="append")
    assert (tmp_path / "d" / "a.txt").read_text() == "xy"
    with pytest.raises(ProviderError, match="it exists already"):
        perform(tmp_path, "file_write", path="d/a.txt", content="z", write="create")
    perform(tmp_path, "file_write", path="d/a.txt", content={"n": 1}, mode="json")
    assert json.loads((tmp_path / "d" / "a.txt").read_text()) == {"n": 1}
    rows = [{"a": 1, "b": "x,y"}, {"a": 2}]
    perform(tmp_path, "file_write", path="t.csv", content=rows, mode="csv")
    assert (tmp_path / "t.csv").read_text() == 'a,b\n1,"x,y"\n2,\n'
    perform(tmp_path, "file_write", path="b.bin", content="AAE=", mode="binary")
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\x01"
    with pytest.raises(ProviderError, match="base64"):
        perform(tmp_path, "file_write", path="b.bin", content="?", mode="binary")


def test_ways_to_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 2_000)
    (tmp_path / "bad.json").write_text("{")
    os.mkfifo(tmp_path / "pipe")

    assert perform(tmp_path, "file_read", path="big", mode="binary")["size"] == 2_000
    for path, more, words in (
        ("big", {"size_max_mb": 0.001}, "more than 1,000 bytes"),
        ("bad.json", {"mode": "json"}, "is not JSON"),
        ("pipe", {}, "not a regular file"),
        ("nothing", {}, "does not exist"),
        (".", {}, "folder"),
        ("big", {"mode": "xml"}, "must be one of"),
    ):
        with pytest.raises(ProviderError, match=words):
            perform(tmp_path, "file_read", path=path, **more)


def test_ways_to_find(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/d.md", ".hidden/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    os.utime(tmp_path / "a.txt", (2e9, 2e9))
    (tmp_path / "link.txt").symlink_to("/etc/passwd")

    def names(**inputs: Any) -> list[str]:
        found = perform(tmp_path, "file_glob", mode="paths", **inputs)
        return [file["path"] for file in found["files"]]

    assert names(pattern="*.txt") == ["a.txt", "b.txt"]
    assert names(pattern="*.txt", recursive=True) == ["a.txt", "b.txt", "sub/c.txt"]
    assert names(pattern="**/*.md") == ["sub/d.md"]
    assert names(pattern="*.txt", sort="modified", descending=True) == ["a.txt", "b.txt"]
    assert names(pattern="*.txt", files_max=1) == ["a.txt"]
    assert names(folder="sub") == ["sub/c.txt", "sub/d.md"]
    assert perform(tmp_path, "file_glob", pattern="a*")["files"][0]["content"] == "a.txt"
    for inputs in ({"folder": "../"}, {"folder": "nowhere"}, {"pattern": "../*"}):
        with pytest.raises(ProviderError):
            names(**inputs)
    shutil.rmtree(tmp_path / "sub")
