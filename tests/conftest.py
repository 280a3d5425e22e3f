"""What holds for all tests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from campaign import IS_CAMPAIGN, SEED
from skipping import refuse_skip
from threats import note_rows, take_tallies
from trusted import TRUSTED
from whorl.wings.testing import pytest_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first example of a property imports what it is about, and machines are busy at times.
settings.register_profile("whorl", deadline=None)
settings.load_profile("whorl")

# What the tests load stays until their end: looking for rubbish in it is slow, and finds none.
gc.disable()
_GARBAGE_MIN = 20_000
# Thousands of stores wait for a disk; in memory their files behave the same, but for that.
_MEMORY = Path("/dev/shm")
_MEMORY_MIN = 4 * 2**30


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders are in memory, where there is much of it that programs may run from.

    Our own plugin is there also where the package was installed before it had one.
    """
    if not config.pluginmanager.is_registered(pytest_plugin):
        config.pluginmanager.register(pytest_plugin, "whorl")
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _MEMORY_MIN:
        return
    if not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


os.environ.update(TRUSTED)


pytest_plugins = ["pytester", "costs"]


def pytest_report_header() -> str:
    """A campaign can be repeated."""
    return f"campaign: SEED={SEED}" if IS_CAMPAIGN else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before any are left out, tests are counted for the table of what is promised.

    `make test` takes one in so many of the examples of a test with the mark `sample`.
    """
    note_rows(config, items)
    numbers: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("sample"):
            test = item.nodeid.partition("[")[0]
            if numbers[test] % mark.args[0]:
                item.add_marker("slow")
            numbers[test] += 1


def pytest_collection_finish() -> None:
    """From here on rubbish is looked for, among what the tests make."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_MIN, *gc.get_threshold()[1:])
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def user_configuration() -> Iterator[None]:
    """No test sees, or makes, the key of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", TRUSTED["XDG_CONFIG_HOME"])
        patch.delenv("WHORL_KEY", raising=False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """A test that is skipped without a known reason has failed."""
    report: Any = yield
    refuse_skip(report)
    if report.when == "teardown":
        report.user_properties += [(f"tally {name}", n) for name, n in take_tallies().items()]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """So has a file that is."""
    report: Any = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine function has an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a project, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_HOME", raising=False)
    return tmp_path
