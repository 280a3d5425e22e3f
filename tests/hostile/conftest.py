"""A clone of a hostile folder for each test; one with a store of runs is made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cloned import Clone, Listener, copied, listening, make_clone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> Clone:
    """What the stranger has published: his files, and a store with runs that can go on."""
    clone = make_clone(tmp_path_factory.mktemp("published"), listener)
    assert clone.whorl("run", "nice.yaml", "--key", "nice", trusts=True).returncode == 0
    assert clone.whorl("run", "loop.yaml", "--key", "loop", trusts=True).returncode == 0
    assert clone.whorl("run", "gate.yaml", "--key", "gate", trusts=True).returncode == 4
    return clone


@pytest.fixture
def clone(published: Clone, tmp_path: Path) -> Clone:
    clone = copied(published, tmp_path)
    clone.forget_traces()
    return clone
