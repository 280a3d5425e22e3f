"""Runs the quick tests near what was changed since main, for half a minute at most.

Near are the tests that were changed, and those that name a module that was changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = ("tests/test_tidy.py", "tests/test_explanations.py")
SECONDS = 30


def changed() -> list[Path]:
    """Files that differ from the last commit that main has, too."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return [Path(name) for name in (
        *_git("diff", "--name-only", "--diff-filter=d", base[0]),
        *_git("ls-files", "--others", "--exclude-standard"),
    )]  # fmt: skip


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()


def near(files: list[Path]) -> list[str]:
    """The tests to run, those that were changed first."""
    tests = sorted(path for path in (ROOT / "tests").rglob("test_*.py"))
    names = [
        ".".join(file.relative_to("src").with_suffix("").parts).removesuffix(".__init__")
        for file in files
        if file.suffix == ".py" and file.is_relative_to("src/whorl")
    ]
    words = [f"{name}{end}" for name in names for end in (" ", ".", '"', "\n")]
    words += [f"from {a} import {b}\n" for a, _, b in (name.rpartition(".") for name in names)]
    own = [str(path.relative_to(ROOT)) for path in tests if path.relative_to(ROOT) in files]
    by_name = [
        str(path.relative_to(ROOT))
        for path in tests
        if any(word in text for text in [path.read_text("utf-8")] for word in words)
    ]
    return list(dict.fromkeys([*ALWAYS, *own, *by_name]))


def main() -> int:
    tests = near(changed())
    print(f"{len(tests)} files of tests are near", flush=True)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-m",
        "not slow and not programs",
        *tests,
    ]
    code = subprocess.call(words, cwd=ROOT, env=os.environ | {"WHORL_SECONDS": str(SECONDS)})
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code


if __name__ == "__main__":
    sys.exit(main())
