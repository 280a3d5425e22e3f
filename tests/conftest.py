"""What holds for all tests."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from campaign import IS_CAMPAIGN, SEED
from skipping import refuse_skip

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first example of a property imports what it is about, and machines are busy at times.
settings.register_profile("whorl", deadline=None)
settings.load_profile("whorl")


def pytest_report_header() -> str:
    """A campaign can be repeated."""
    return f"campaign: SEED={SEED}" if IS_CAMPAIGN else ""


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: looking through them again and again is slow."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def user_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees, or makes, the key of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        patch.delenv("WHORL_KEY", raising=False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """A test that is skipped without a known reason has failed."""
    report: Any = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """So has a file that is."""
    report: Any = yield
    refuse_skip(report)
    return report
