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


@whorl.step(timeout=60)
def run_tests(code: str, tests: str) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "solution.py").write_text(code.replace("```python", "").replace("```", ""))
        Path(folder, "tests.py").write_text(tests)
        words = [sys.executable, "tests.py"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return Report(done.returncode == 0, done.stderr[-2_000:])


@whorl.workflow(budget=1.00)
def until_green(task: str, tests: str) -> dict[str, object]:
    with whorl.loop({"output": ""}, at_most=5) as fix:
        code = whorl.ask(f"Write solution.py: {task}\nThe tests said: {fix.state['output']}")
        report = run_tests(code, tests)
        fix.state["output"] = report.output
        fix.until(report.passed)
    return {"code": code, "passed": report.passed, "why": fix.facts.exit_reason}


if __name__ == "__main__":
    tests = "from solution import double\nassert double(2) == 4"
    print(whorl.run_sync(until_green, {"task": "double(n)", "tests": tests}).outputs)
