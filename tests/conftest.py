"""What holds for all tests."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from campaign import IS_CAMPAIGN, SEED
from skipping import refuse_skip
from trusted import TRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first example of a property imports what it is about, and machines are busy at times.
settings.register_profile("whorl", deadline=None)
settings.load_profile("whorl")


os.environ.update(TRUSTED)


def pytest_report_header() -> str:
    """A campaign can be repeated."""
    return f"campaign: SEED={SEED}" if IS_CAMPAIGN else ""


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: looking through them again and again is slow."""
    gc.collect()
    gc.freeze()


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
