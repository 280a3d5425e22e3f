"""The pytest plugin: the fixture `whorl`. If a test fails, it shows why the loops ended.

Every pytest session loads it if Whorl is installed, so it imports nothing until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from whorl.wings.testing.api import Whorl

_USED: pytest.StashKey[Whorl] = pytest.StashKey()


@pytest.fixture
def whorl(request: pytest.FixtureRequest) -> Whorl:
    """Runs workflows with mocks: no real call is made, and no time passes."""
    from whorl.wings.testing.api import Whorl

    used = request.node.stash[_USED] = Whorl(request.path.parent)
    return used


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    used = item.stash.get(_USED, None)
    if report.failed and used is not None and used.outcomes:
        report.sections.append(("why the loops ended", used.why()))
    return report
