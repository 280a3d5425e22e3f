"""A test file of a stranger sends nothing by itself, and breaks nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cloned import Clone, Listener, empty_clone

if TYPE_CHECKING:
    from pathlib import Path

ASKS = "whorl: 1\nname: asks\nsteps:\n  s: {http: 'URL/real'}\n"
REAL = "whorl_tests: 1\ntests:\n  t:\n    real: [s]\n    expect: {status: succeeded}\n"
PERMITS = "[allow]\nprivate_network = true\n"
NEEDED = "W908: the test 't' has steps that are `real`, and this folder is not trusted"


@pytest.fixture
def folder(tmp_path: Path, listener: Listener) -> Clone:
    clone = empty_clone(tmp_path, listener)
    (clone.folder / "asks.yaml").write_text(ASKS.replace("URL", listener.url))
    (clone.folder / "asks.test.yaml").write_text(REAL)
    clone.forget_traces()
    return clone


@pytest.mark.slow
def test_a_real_step_needs_trust_also_without_a_whorl_toml(folder: Clone) -> None:
    config = folder.home / "own.toml"
    config.write_text("[defaults]\nmodel = 'm'\n")
    refused = folder.whorl("test")
    assert refused.returncode == 1
    assert NEEDED in refused.stdout
    assert "`whorl test asks.test.yaml --trust`" in refused.stdout
    assert folder.traces() == []

    # Now it is carried out, as far as it is permitted.
    done = folder.whorl("test", "asks.test.yaml", "--trust")
    assert NEEDED not in done.stdout
    assert NEEDED not in folder.whorl("test", trusts=True).stdout
    assert NEEDED not in folder.whorl("test", "--config", str(config)).stdout


def test_what_is_trusted_is_carried_out(folder: Clone) -> None:
    (folder.folder / "whorl.toml").write_text(PERMITS)
    assert folder.whorl("test").returncode == 1
    assert folder.traces() == []
    folder.whorl("test", "--trust")
    assert folder.traces() == ["sent to /real"]
    assert folder.whorl("trust", "--yes").returncode == 0
    folder.whorl("test")
    assert folder.traces() == ["sent to /real", "sent to /real"]


def test_help_says_what_is_sent(folder: Clone) -> None:
    words = " ".join(folder.whorl("test", "--help").stdout.split())
    assert "Nothing is sent, but for the steps that a test file names in `real`" in words


@pytest.mark.sample(3)
@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "[" * 5_000 + "]" * 5_000])
def test_a_deep_cassette_is_refused(folder: Clone, deep: str) -> None:
    (folder.folder / "deep.json").write_text(deep)
    (folder.folder / "asks.test.yaml").write_text(
        "whorl_tests: 1\ntests:\n  t: {cassette: deep.json, expect: {status: succeeded}}\n"
    )
    by_name = folder.whorl("test", "asks.yaml", "--cassette", "deep.json", "--json")
    assert by_name.returncode == 2, by_name.stderr
    assert "deep.json" in json.loads(by_name.stdout)["error"]["message"]
    by_file = folder.whorl("test")
    assert by_file.returncode == 1, by_file.stderr
    assert "deep.json" in by_file.stdout
    assert "I900" not in by_name.stderr + by_file.stderr
