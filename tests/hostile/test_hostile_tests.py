"""A test file of a stranger sends nothing by itself, and breaks nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cloned import Clone, Listener, empty_clone

if TYPE_CHECKING:
    from pathlib import Path

ASKS = "whorl: 1\nname: asks\nsteps:\n  s: {http: 'URL/asked'}\n"
TESTS = "whorl_tests: 1\ntests:\n  t:\n    expect: {status: succeeded}\n"


@pytest.fixture
def folder(tmp_path: Path, listener: Listener) -> Clone:
    clone = empty_clone(tmp_path, listener)
    (clone.folder / "asks.yaml").write_text(ASKS.replace("URL", listener.url))
    (clone.folder / "asks.test.yaml").write_text(TESTS)
    clone.forget_traces()
    return clone


def test_a_step_without_a_mock_is_not_carried_out(folder: Clone) -> None:
    (folder.folder / "whorl.toml").write_text("[allow]\nprivate_network = true\n")
    for trusts in (False, True):
        done = folder.whorl("test", trusts=trusts)
        assert done.returncode == 1
        assert "nothing is called in a test" in done.stdout
        assert folder.traces() == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "[" * 5_000 + "]" * 5_000])
def test_a_deep_recording_is_refused(folder: Clone, deep: str) -> None:
    (folder.folder / "deep.json").write_text(deep)
    by_name = folder.whorl("test", "asks.yaml", "--recording", "deep.json", "--json")
    assert by_name.returncode == 2, by_name.stderr
    assert "deep.json" in json.loads(by_name.stdout)["error"]["message"]
    assert "I900" not in by_name.stderr
