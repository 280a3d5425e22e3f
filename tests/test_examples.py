"""The tests in examples/ and in the guide pass, and reach all that their workflows have."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE_S
from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "examples").rglob("*.test.yaml"))
PROGRAMS = sorted((ROOT / "examples").rglob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_the_tests_of_examples_pass_and_reach_everything(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("test", str(path), "--coverage", "--fail-under", "100")
    code = run_safely(build_group(COMMANDS), words)

    assert code == 0, capsys.readouterr().out


def test_the_tests_of_the_guide_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "guides" / "testing.md").read_text()
    workflow, tests, *_ = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
    (tmp_path / "triage.yaml").write_text(workflow)
    (tmp_path / "triage.test.yaml").write_text(tests)
    monkeypatch.chdir(tmp_path)
    code = run_safely(build_group(COMMANDS), ("test", "--json"))
    told = json.loads(capsys.readouterr().out)

    assert (code, [test["failures"] for test in told["tests"]]) == (0, [[], [], []])


@pytest.mark.slow
def test_the_programs_of_examples_pass() -> None:
    """In a process of its own, in which nothing but the plugin knows the fixture."""
    code = (
        "import sys, pytest; from whorl.wings.testing import pytest_plugin as plugin; "
        "heavy = [m for m in sys.modules if m.startswith(('whorl.services', 'whorl.providers'))]; "
        "sys.exit(heavy or pytest.main(['-q', '-p', 'no:whorl', '-p', 'no:cacheprovider', "
        "'-c', '/dev/null', *sys.argv[1:]], plugins=[plugin]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, PROGRAMS)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(PROGRAMS) == 2
    assert "6 passed" in done.stdout


NATIVE = ROOT / "examples" / "native"
LOOPS = sorted(path.stem for path in NATIVE.glob("*.yaml") if ".test." not in path.name)


def test_each_native_example_has_a_line_a_fresh_picture_and_a_test(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    drawn = tool.examples(tmp_path / "pictures")
    page = (NATIVE / "README.md").read_text()

    assert len(LOOPS) == 12
    assert [picture.stem for picture in drawn] == LOOPS
    for picture in drawn:
        kept = NATIVE / "pictures" / picture.name
        assert kept.read_text() == picture.read_text(), "python tools/pictures.py --examples"
        assert f"| [{picture.stem}.yaml]({picture.stem}.yaml) |" in page
        assert f'<img src="pictures/{picture.name}"' in page
        assert (NATIVE / f"{picture.stem}.test.yaml").exists()


GREEN = """
[allow]
commands = ["git", "python3"]
files = {write = ["src/**"]}
[providers.canned]
kind = "scripted"
model = "m"
[[providers.canned.replies]]
match = "The tests fail"
by = "iteration"
replies = [
    "```python\\ndef double(x):\\n    return x + 100\\n```",
    "def double(x):\\n    return 2 * x\\n",
]
"""
CHECK = """
import unittest
from src.app import double


class Doubling(unittest.TestCase):
    def test_it_doubles(self):
        self.assertEqual(double(3), 6)
"""


def test_a_repository_is_repaired_with_a_commit_for_each_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example as it is, with real commands in a real repository; the model is scripted.

    The attempts have different lengths: Python would else take one for the other within a second.
    """
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("def double(x):\n    return x\n")
    (tmp_path / "test_app.py").write_text(CHECK)
    (tmp_path / "whorl.toml").write_text(GREEN)
    (tmp_path / "fix.yaml").write_text((ROOT / "examples/native/until-green.yaml").read_text())
    home = {"GIT_CONFIG_GLOBAL": str(tmp_path / ".gitconfig"), "HOME": str(tmp_path)}
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.com\n")
    monkeypatch.chdir(tmp_path)

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout

    git("init", "--quiet")
    git("add", "src", "test_app.py")
    git("commit", "--quiet", "-m", "Begin")
    code = run_safely(build_group(COMMANDS), ("run", "fix.yaml", "--trust"))

    assert code == 0, capsys.readouterr().err
    assert git("log", "--format=%s").splitlines() == ["Attempt 2", "Attempt 1", "Begin"]
    assert (tmp_path / "src/app.py").read_text() == "def double(x):\n    return 2 * x\n"
