"""The task `run`: real programs, started with permission only, and nothing left of them."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import is_running, providers_for

from waiting import PATIENCE_S, wait_until
from whorl.dialects.native.shell import read_script
from whorl.errors import ProviderError
from whorl.providers.processes import Program, run_program
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Reply, Request

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = sys.executable


def perform(
    root: Path,
    inputs: dict[str, Any],
    *,
    allow: Any = True,
    timeout_s: float | None = PATIENCE_S,
    said: list[str] | None = None,
) -> Reply:
    async def main() -> Reply:
        environment = {"PATH": os.environ["PATH"], "HOME": "/home/x", "API_KEY": "secret-in-env"}
        table = {"allow": {"commands": allow}}
        settings = settings_from(table, environment, project_root=str(root))
        async with providers_for(settings) as providers:
            request = Request("r", "s", "run", inputs, timeout_s=timeout_s)
            emit = (lambda _: None) if said is None else said.append
            return await providers.kind("run").perform(request, emit)

    return asyncio.run(main())


def fault_of(root: Path, inputs: dict[str, Any], **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        perform(root, inputs, **options)
    return caught.value


def test_a_command_gives_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: a group without processes is not waited for."""
    monkeypatch.setattr("whorl.providers.processes.GRACE_S", 2 * PATIENCE_S)
    said: list[str] = []
    code = "import sys; print('grün'); print('bad', file=sys.stderr)"

    reply = perform(tmp_path, {"argv": [PYTHON, "-c", code]}, said=said)

    assert reply.value == {"stdout": "grün\n", "stderr": "bad\n", "exit_code": 0}
    assert "".join(said) == "grün\n"


def test_leave_for_one_program_is_not_leave_for_others(tmp_path: Path) -> None:
    perform(tmp_path, {"script": "touch ran.txt"}, allow=["sh"])

    assert (tmp_path / "ran.txt").exists()
    for name in (
        *("PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GIT_CONFIG_COUNT", "HOME", "PYTHONPATH"),
        *("NODE_OPTIONS", "BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "SHELL", "IFS", "EDITOR"),
        *("PAGER", "git_ssh_command"),
    ):
        fault = fault_of(tmp_path, {"script": "true", "env": {name: "x"}}, allow=["sh"])

        assert fault.code == "P113"
        assert name in str(fault)
    env = {"ENVIRONMENT": "prod", "HOMEPAGE": "x", "CCS": "1"}
    value: Any = perform(tmp_path, {"argv": ["env"], "env": env}, allow=["env"]).value
    assert {f"{name}={text}" for name, text in env.items()} <= set(value["stdout"].split())


def test_variables_are_never_text_of_the_script(tmp_path: Path) -> None:
    hostile = '"; touch hacked; echo "$(touch hacked)`touch hacked`'
    inputs = {"script": 'printf %s "${WHORL_1}"', "variables": {"WHORL_1": hostile}}

    value: Any = perform(tmp_path, inputs).value

    assert value["stdout"] == hostile
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_script", [True, False])
@pytest.mark.parametrize(
    ("value", "is_refused"),
    [("--upload-pack=touch pwned", True), ("-c", True), ("- a list", False), ("origin", False)],
)
def test_a_value_is_no_option_of_a_program_that_it_would_steer(
    tmp_path: Path, value: str, is_refused: bool, is_script: bool
) -> None:
    script = read_script("git ls-remote {{ x }} || true")
    variables = {placed.name: value for placed in script.placed}
    inputs: dict[str, Any] = {"script": script.text, "variables": variables}
    if not is_script:
        inputs = {"argv": ["git", "ls-remote", value], "check": False, "steered": [2]}

    if is_refused:
        fault = fault_of(tmp_path, inputs)
        assert (fault.code, "'git'" in str(fault), "`--`" in str(fault)) == ("P113", True, True)
        assert value not in str(fault)
    else:
        assert (perform(tmp_path, inputs).detail["exit_code"] == 0) == is_script


def test_the_environment_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-in-env")
    code = "import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'))"

    value: Any = perform(tmp_path, {"argv": [PYTHON, "-c", code], "env": {"MINE": "1"}}).value

    assert value["stdout"] == "['HOME', 'MINE', 'PATH']\n"


def test_stdin(tmp_path: Path) -> None:
    value: Any = perform(tmp_path, {"argv": ["cat"], "stdin": "hällo" * 100_000}).value

    assert value["stdout"] == "hällo" * 100_000
    ignored: Any = perform(tmp_path, {"argv": ["true"], "stdin": "x" * 1_000_000}).value
    assert ignored["exit_code"] == 0


def test_a_failing_command(tmp_path: Path) -> None:
    inputs = {"script": "echo out; echo why >&2; exit 3"}

    fault = fault_of(tmp_path, inputs)
    unchecked: Any = perform(tmp_path, {**inputs, "check": False}).value

    assert fault.code == "P109"
    assert "exit code 3: why" in str(fault)
    # It may be another one next time.
    assert fault.retryable
    assert fault.detail == {"stdout": "out\n", "stderr": "why\n", "exit_code": 3}
    assert unchecked == {"stdout": "out\n", "stderr": "why\n", "exit_code": 3}


@pytest.mark.parametrize(
    ("inputs", "exit_code"), [(["no-such-program"], 127), (["./plain.txt"], 126)]
)
def test_commands_that_do_not_start(tmp_path: Path, inputs: list[str], exit_code: int) -> None:
    (tmp_path / "plain.txt").write_text("x")

    fault = fault_of(tmp_path, {"argv": inputs})

    assert (fault.code, fault.detail["exit_code"]) == ("P109", exit_code)


# Starts a child that ignores the polite signal, writes both numbers down, and waits.
STUBBORN = """
import os, signal, subprocess, sys, time
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
code = deaf + "; print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
with open("pids.tmp", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename("pids.tmp", "pids")
print("started", flush=True)
time.sleep(600)
"""


def pids(root: Path) -> list[int]:
    return [int(word) for word in (root / "pids").read_text().split()]


def test_a_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    for timeout_s in (1.5, 6.0, 60.0):
        fault = fault_of(tmp_path, {"argv": [PYTHON, "-c", STUBBORN]}, timeout_s=timeout_s)
        assert (fault.code, fault.retryable) == ("P108", True)
        if (tmp_path / "pids").exists():  # else it was too slow to begin
            break

    wait_until(lambda: not any(map(is_running, pids(tmp_path))))


def test_cancelling_kills_the_whole_group(tmp_path: Path) -> None:
    async def main() -> None:
        started = asyncio.Event()
        program = Program((PYTHON, "-c", STUBBORN), dict(os.environ), str(tmp_path))
        task = asyncio.create_task(run_program(program, lambda _: started.set()))
        await asyncio.wait_for(started.wait(), PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    wait_until(lambda: not any(map(is_running, pids(tmp_path))))


def test_what_a_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    value: Any = perform(tmp_path, {"script": "(sleep 60; touch late) & echo $!"}).value

    assert not (tmp_path / "late").exists()
    wait_until(lambda: not is_running(int(value["stdout"])))


def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    def written(code: str) -> tuple[Any, Any]:
        argv = [PYTHON, "-c", f"import sys; sys.stdout.write({code})"]
        reply = perform(tmp_path, {"argv": argv})
        value: Any = reply.value
        return value["stdout"], reply.detail

    text, detail = written("'a' * 3_000_000 + 'b' * 3_000_000")

    assert detail["cut"] == ["stdout"]
    assert detail["warnings"][0]["code"] == "R117"
    assert text.startswith("a" * 500_000 + "\n[5000000 bytes left out]\n")
    assert text.endswith("b" * 500_000)
    assert len(text) < 1_000_100
    # What is at the limit is whole.
    whole, detail = written("'a' * 1_000_000")
    assert (whole, "cut" in detail) == ("a" * 1_000_000, False)


def test_the_folder_is_inside_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "link").symlink_to(tmp_path)

    value: Any = perform(project, {"script": "pwd -P", "folder": "sub"}).value

    assert value["stdout"].strip() == str((project / "sub").resolve())
    for folder in ("..", "/tmp", "~", "link", "sub/../..", "missing", "a\\b"):
        assert fault_of(project, {"script": "pwd", "folder": folder}).code == "P113"


@pytest.mark.parametrize(
    "inputs",
    [
        *({}, {"argv": "ls"}, {"argv": ["a\0b"]}, {"script": "x", "folder": "missing"}),
        *({"script": "x", "env": {"A=B": "1"}}, {"script": "x", "variables": {"A": "\0"}}),
    ],
)
def test_wrong_inputs(tmp_path: Path, inputs: dict[str, Any]) -> None:
    fault = fault_of(tmp_path, inputs)

    assert (fault.code, fault.retryable) == ("P113", False)


def test_a_text_too_long_for_the_environment_is_reported(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, {"script": "true", "variables": {"WHORL_1": "x" * 3_000_000}})

    assert fault.code == "P109"
    assert "stdin" in str(fault)
