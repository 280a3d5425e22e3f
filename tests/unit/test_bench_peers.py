"""The table of peers: what is measured is real, and who is not there is listed as such."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.peers import __main__ as table

ROW = {"version": "1.0", "cpu_s": 2.0, "wall_s": 3.0, "bytes": 4000, "memory_mb": 5.0}


@pytest.mark.sample(4)
@pytest.mark.parametrize("program", table.PROGRAMS)
@pytest.mark.parametrize("peer", ["by hand", "Whorl", "Whorl, with effects"])
def test_a_program_is_measured_in_a_process_of_its_own(peer: str, program: str) -> None:
    found = table.measured(peer, program, 12, 600.0)

    assert set(found) == {"version", "settings", "cpu_s", "wall_s", "bytes", "memory_mb"}
    assert found["memory_mb"] > 1
    assert table.settings_of({program: {"peers": {peer: found}}}) == {peer: found["settings"]}


def test_a_peer_that_is_not_installed_is_listed_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(table, "FRAMEWORKS", tmp_path / "python")

    found = table.measured("Burr", "one", 1, 600.0)

    assert found == {"missing": "burr is not installed"}
    assert table.line("Burr", found, ROW).split(maxsplit=1) == ["Burr", "burr is not installed"]
