"""Files of strangers, read and run as they are: nothing happens but a message, and that soon."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attack_files import ATTACKS, CONTROLS, COUNT, PART

import whorl
from threats import tally
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attack_bases import Attack

pytestmark = pytest.mark.threat(row="T15")

KEY = "sk-canary-0123456789abcdef"
SECRET = "what stands in the secret file"
CONFIG = {
    "defaults": {"provider": "one", "model": "m"},
    "providers": {
        "one": {"kind": "scripted", "replies": [{"match": ".*", "replies": ["ok"]}], "model": "m"}
    },
}
# It hangs nobody; how long it takes is measured by `make security`.
CPU_S_MAX = 20.0
MEGABYTES_MAX = 256
# What Python tells of before it does it: programs, connections, files.
EXECUTING = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.")
_watched: list[str] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is None:
        return
    if event.startswith(EXECUTING) or event == "socket.connect":
        _watched.append(f"{event} {arguments!r:.200}")
    # What a place outside is looked for as in the project is the project's.
    elif event == "open" and any(
        name in str(arguments[0]) and "/inside/" not in str(arguments[0])
        for name in ("passwd", "secret", ".ssh", "/dev/zero", "self/environ")
    ):
        _watched.append(f"open {arguments[0]}")


sys.addaudithook(_audit)


@dataclass
class Outcome:
    """What became of a file."""

    status: str
    message: str
    output: Any = None
    places: list[Any] = field(default_factory=list)


@dataclass
class Project:
    """A folder of a person with a key, in which files of others are tried."""

    folder: Path
    loop: asyncio.AbstractEventLoop
    session: whorl.Session

    def read(self, attack: Attack) -> Any:
        (self.folder / attack.file).write_bytes(attack.content)
        return whorl.load(self.folder / attack.file)

    def outcome(self, attack: Attack) -> Outcome:
        try:
            return self.loop.run_until_complete(self._run(self.read(attack)))
        except whorl.InvalidWorkflow as fault:
            spans = [found.span for found in fault.diagnostics]
            return Outcome("refused", str(fault), places=spans)
        except whorl.UsageError as fault:
            return Outcome("not started", str(fault))

    async def _run(self, workflow: Any) -> Outcome:
        inputs = {port.name: "x" for port in workflow.ir.inputs}
        run = await self.session.start(workflow, inputs)
        result = await asyncio.wait_for(run.result(), PATIENCE_S)
        told = json.dumps([result.output, result.outputs, result.error, result.warnings])
        events = [json.dumps(event.body) async for event in run.events()]
        output = result.output if result.output is not None else result.outputs
        return Outcome(result.status, told + "".join(events), output)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("strangers")
    (folder / "inside").mkdir()
    (folder / "secret.txt").write_text(SECRET)
    (folder / "inside" / "part.yaml").write_text(PART)
    (folder / "inside" / "link.yaml").symlink_to(folder / "secret.txt")
    os.mkfifo(folder / "inside" / "pipe")
    loop = asyncio.new_event_loop()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "inside")
        patch.setenv("OPENAI_API_KEY", KEY)
        session = whorl.Session(config=CONFIG)
        loop.run_until_complete(session.__aenter__())
        yield Project(folder / "inside", loop, session)
        loop.run_until_complete(session.__aexit__())
    loop.close()


@pytest.fixture
def watched() -> Iterator[list[str]]:
    """What was executed, connected to or opened, that should not have been."""
    global _watched  # noqa: PLW0603
    _watched = found = []
    yield found
    _watched = None


# What a pattern really takes is charged for by another part, which tests it here.
PRICES = Path(__file__).parents[1] / "unit" / "language" / "test_prices.py"
DEAR = pytest.mark.xfail(
    not PRICES.exists(), reason="patterns cost more time than they are charged for", run=False
)


def _params() -> list[Any]:
    return [pytest.param(name, marks=[DEAR] if "regex_search" in name else []) for name in ATTACKS]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", _params())
def test_a_hostile_file_does_nothing(project: Project, watched: list[str], name: str) -> None:
    attack = ATTACKS[name]
    before = sorted(path.name for path in project.folder.iterdir())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    found = project.outcome(attack)
    took = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024

    assert watched == []
    if found.status == "refused":
        # Of a file that is too large nothing is read.
        assert found.places[0] is not None or attack.about == "three megabytes"
        tally("refused when they are read", 1)
        tally("of these with file and line", found.places[0] is not None)
    assert (project.folder.parent / "secret.txt").read_text() == SECRET
    assert (project.folder / "part.yaml").read_text() == PART
    after = {path.name for path in project.folder.iterdir()} - {attack.file, ".whorl"}
    assert after == set(before) - {attack.file, ".whorl"}
    for word in (KEY, SECRET, "root:x:", "Traceback", "I900", "<class", "<built-in"):
        assert word not in found.message
    assert took < CPU_S_MAX
    assert grown < MEGABYTES_MAX
    tally("most ms of the processor", took * 1000)
    tally("most MB added by one", grown)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_file_that_only_looks_hostile_runs(
    project: Project, watched: list[str], name: str
) -> None:
    """Else the others could be refused for anything."""
    harmless, expected = CONTROLS[name]
    found = project.outcome(harmless)

    assert found.status == "succeeded", found.message
    assert str(expected) in str(found.output)
    assert watched == []


def test_there_are_as_many_attacks_as_numbers() -> None:
    assert len(ATTACKS) == COUNT
    assert len(CONTROLS) == 15
