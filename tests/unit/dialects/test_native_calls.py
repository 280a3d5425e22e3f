"""Calls of other files: opened beside the caller, read by their own dialect, never in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl.dialects import ProjectFiles, Reading, read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.errors import Diagnostic

POLISH = """\
whorl: 1
name: polish
inputs: {text: string, tone: string?}
steps: {w: {ask: "{{ text }}"}}
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".yaml").write_text(text)


def load(folder: Path, name: str = "main.yaml") -> Reading:
    path = folder / name
    return read_workflow(path.read_text(), str(path), ProjectFiles(str(folder)))


def wrong(folder: Path, name: str = "main.yaml") -> tuple[Diagnostic, ...]:
    with pytest.raises(InvalidWorkflow) as caught:
        load(folder, name)
    return caught.value.diagnostics


def test_circles_and_long_chains_are_refused(tmp_path: Path) -> None:
    files = {f"f{n}": f"whorl: 1\nsteps: {{a: {{call: f{n + 1}.yaml}}}}\n" for n in range(30)}
    write(
        tmp_path,
        main="whorl: 1\nsteps: {a: {call: other.yaml}}\n",
        other="whorl: 1\nsteps: {b: {call: main.yaml}}\n",
        self="whorl: 1\nsteps: {a: {call: ./self.yaml}}\n",
        f30=POLISH,
        **files,
    )

    for name, code in (("main.yaml", "W011"), ("self.yaml", "W011"), ("f0.yaml", "W002")):
        assert [diagnostic.code for diagnostic in wrong(tmp_path, name)] == [code]


def test_mistakes_of_called_files_are_reported_in_their_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='whorl: 1\nsteps: {a: {call: bad.yaml}, b: {call: bad.yaml}, c: {ask: "{{ x }}"}}\n',
        bad="whorl: 1\nsteps: {b: {aks: Hi}}\n",
    )
    found = wrong(tmp_path)

    assert [(d.code, str(d.span).rpartition("/")[2]) for d in found] == [
        ("W004", "bad.yaml:2:13"),
        ("W005", "main.yaml:2:64"),
    ]
