"""The public interface as pyright sees it: the examples, and the program that uses all of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from programs import program

ROOT = Path(__file__).parents[2]
WRONG = """
import whorl


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
async def twice(number: int) -> int:
    return await double("four")


async def main(run: whorl.Run[int]) -> None:
    async for event in run.stream(whorl.Token):
        print(event.number)
"""


@pytest.mark.slow
def test_the_examples_are_sound_and_mistakes_are_seen(tmp_path: Path) -> None:
    typing = ROOT / "tests" / "typing"
    programs = [
        typing / "api.py",
        typing / "programs.py",
        *(ROOT / "examples" / "python").glob("*.py"),
    ]
    for path in programs:
        shutil.copy(path, tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    mistakes = typing / "mistakes.txt"
    (tmp_path / "strict.py").write_text(f"# pyright: strict\n{mistakes.read_text()}")
    sound = (typing / "programs.py").read_text()
    (tmp_path / "programs.py").write_text(f"# pyright: strict\n{sound}")
    settings = {"extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    words = [*program("pyright"), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    found = [(Path(each["file"]).name, each["message"]) for each in report["generalDiagnostics"]]

    strict = [each for each in report["generalDiagnostics"] if each["file"].endswith("strict.py")]
    lines = [each["range"]["start"]["line"] for each in strict if each["severity"] == "error"]
    found = [each for each in found if each[0] != "strict.py"]

    assert report["summary"]["filesAnalyzed"] == len(programs) + 2
    assert [file for file, _ in found] == ["wrong.py", "wrong.py"], found
    assert sorted(set(lines)) == [8, 9, 10, 14, 15], strict
    assert '"Literal[\'four\']" is not assignable to "int"' in found[0][1]
    assert 'Cannot access attribute "number" for class "Token"' in found[1][1]
