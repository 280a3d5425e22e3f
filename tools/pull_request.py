"""Tells in Markdown what the workflows of a repository may cost, and what changed since a commit.

`python tools/pull_request.py BASE PATTERN...`, in a clone; without a base, costs alone. It needs
`git` and `whorl`, and nothing that is not in Python itself.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LINES_MAX = 200


def called(*words: str, folder: str = ".") -> str:
    """What a command prints, whether it succeeds or not."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def reports(folder: str, patterns: list[str]) -> dict[str, dict[str, object]]:
    """The workflows of a folder with what `whorl validate` says of them, by file and name."""
    files = called("git", "ls-files", "-z", "--", *patterns, folder=folder).split("\0")
    listed = [file for file in files if file]
    if not listed:
        return {}
    printed = called("whorl", "validate", "--known", "--json", "--", *listed, folder=folder)
    found = json.loads(printed or "[]")
    for each in found:
        each["budget_usd"] = each.get("limits", {}).get("cost_usd")
    return {f"{each['file']} {each.get('name', '')}": each for each in found}


def amount(report: dict[str, object] | None, field: str) -> str:
    value = (report or {}).get(field)
    if report is None or not report.get("ok"):
        return "-" if report is None else "broken"
    if not isinstance(value, int | float):
        return "open"
    return f"${value:.2f}" if field.endswith("_usd") else f"{value:,}"


def changed(before: str, now: str) -> str:
    return now if before in (now, "-") else f"{before} → **{now}**"


def difference(file: str, old: str, folder: str) -> list[str]:
    """How the outline of a workflow differs from the one that it was."""
    texts = [
        called("whorl", "file", "graph", "--text", "--", file, folder=place)
        for place in (old, folder)
    ]
    lines = difflib.unified_diff(*(text.splitlines() for text in texts), lineterm="", n=2)
    shown = list(lines)[2:][:LINES_MAX]
    if not shown:
        return []
    summary = f"<details><summary>{file}</summary>"
    return [summary, "", "```diff", *shown, "```", "", "</details>", ""]


def page(base: str, patterns: list[str]) -> list[str]:
    now = reports(".", patterns)
    head = "| workflow | calls at most | costs at most | budget |"
    lines = ["### Whorl", "", head, "|---|---|---|---|"]
    differences: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        old = str(Path(folder) / "base")
        if base:
            called("git", "worktree", "add", "--detach", "--quiet", old, base)
        has_base = Path(old).is_dir()
        before = reports(old, patterns) if has_base else {}
        for key, report in now.items():
            cells = [
                changed(amount(before.get(key), field), amount(report, field))
                for field in ("calls_max", "bound_usd", "budget_usd")
            ]
            mark = " (new)" if has_base and key not in before else ""
            lines.append(f"| {report['file']}{mark} | {' | '.join(cells)} |")
            if key in before and report.get("ok"):
                differences += difference(str(report["file"]), old, ".")
        if has_base:
            called("git", "worktree", "remove", "--force", old)
    lines += [f"| {before[key]['file']} (gone) | | | |" for key in before if key not in now]
    tests = Path(os.environ.get("RUNNER_TEMP", ".")) / "whorl-tests.txt"
    if tests.is_file():
        lines += ["", "```text", *tests.read_text().splitlines()[-LINES_MAX:], "```"]
    return [*lines, "", *differences]


if __name__ == "__main__":
    print("\n".join(page(sys.argv[1], sys.argv[2:])))
