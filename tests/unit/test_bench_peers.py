"""The table of peers: what is measured is real, and who is not there is listed as such."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.peers import __main__ as table
from bench.peers.picture import picture

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


def test_a_row_compares_with_a_loop_by_hand() -> None:
    words = table.line("Other", ROW, ROW | {"cpu_s": 0.5})

    assert words.split()[:6] == ["Other", "1.0", "CPU", "2.000", "s", "4.0x"]


def test_the_picture_has_a_bar_for_everyone_who_was_measured() -> None:
    peers = {"by hand": ROW, "A <b>": ROW | {"cpu_s": 20.0}, "C": {"missing": "not installed"}}

    found = {"one": {"title": "one", "size": 10, "peers": peers}}
    drawn = ET.fromstring(picture(found, "a day"))

    texts = ["".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text")]
    assert "A <b> 1.0" in texts
    assert "C" in texts
    assert texts[-1] == "a day"
    assert "10.0x, 4 kB" in texts
    assert "not installed" in texts
    assert sum(one.tag.endswith("rect") for one in drawn.iter()) == 3
