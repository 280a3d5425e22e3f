"""Writes a function until its tests pass."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import whorl


@dataclass
class Report:
    passed: bool
    output: str


@dataclass
class Solution:
    code: str
    passed: bool
    why: str = ""


@whorl.step(timeout=60)
def run_tests(code: str, tests: str) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "solution.py").write_text(code.replace("```python", "").replace("```", ""))
        Path(folder, "tests.py").write_text(tests)
        words = [sys.executable, "tests.py"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return Report(done.returncode == 0, done.stderr[-2_000:])


@whorl.workflow(budget=1.00)
async def until_green(task: str, tests: str) -> Solution:
    output, solution = "", Solution("", False)
    fix = whorl.loop(at_most=5)
    async for turn in fix:
        code = await whorl.ask(f"Write solution.py: {task}\nThe tests said: {output}")
        report = await run_tests(code, tests)
        solution, output = Solution(code, report.passed), report.output
        if report.passed:
            turn.stop("green")
    solution.why = fix.exit_reason
    return solution


if __name__ == "__main__":
    tests = "from solution import double\nassert double(2) == 4"
    print(whorl.run_sync(until_green, {"task": "double(n)", "tests": tests}).value)
