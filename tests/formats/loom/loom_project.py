"""Runs files of the dialect as a user does: a project folder, a real store, a real web server."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from answers import Answering, answering
from trusted import TRUSTED
from whorl.providers.registry import Providers
from whorl.runtimes.start_options import Start
from whorl.services.inspecting.results import document
from whorl.services.project import Project
from whorl.services.runs import open_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from whorl.interpreter.events import Event


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Answer:
    """What the server sends back."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Web:
    """A server on this machine, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def web(answer: Callable[[Asked], Answer]) -> Iterator[Web]:
    """A server that answers as it is told."""
    found = Web("")

    class Handler(Answering):
        def _take(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): text for name, text in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(size))
            found.asked.append(asked)
            told = answer(asked)
            content = b"" if told.body is None else json.dumps(told.body).encode()
            self.send_response(told.status)
            for name, text in ({"content-type": "application/json"} | told.headers).items():
                self.send_header(name, text)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _take  # noqa: N815

    with answering(Handler) as found.url:
        yield found


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run came to, what stands in its journal, and where its store is."""

    document: dict[str, Any]
    events: list[Event]
    project: Project

    @property
    def output(self) -> Any:
        return self.document["output"]

    def bytes_stored(self) -> bytes:
        """Everything that the store's files hold."""
        folder = self.project.store.parent
        return b"".join(file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file())


def run_in(
    folder: Path,
    definition: Any,
    *,
    config: str = "",
    given: dict[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs a definition in a folder, with this whorl.toml."""
    (folder / "whorl.toml").write_text(config, encoding="utf-8")
    file = folder / "workflow.json"
    file.write_text(json.dumps(definition), encoding="utf-8")
    store = folder / "store" / "whorl.db"
    project = Project(folder, folder / "whorl.toml", store, TRUSTED | (environment or {}))
    return asyncio.run(_run(project, str(file), given or {}))


async def _run(project: Project, file: str, given: dict[str, Any]) -> Finished:
    workflow = project.read(file).workflow
    providers = Providers(project.settings())
    async with open_runtime(project, providers) as runtime:
        started, _ = await runtime.start(workflow, Start(input=given))
        status = await runtime.drive(started)
        events = [entry.event for entry in runtime.store.read(started)]
        final = next((event for event in events if event.kind == "run.finished"), None)
        return Finished(document(started, status, final, runtime.store), events, project)
