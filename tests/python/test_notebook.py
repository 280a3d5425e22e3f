"""What the cell of a notebook shows of a run; a real notebook is run among the tests of peers."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest

import whorl
from whorl.interfaces.python.notebook import View

pytestmark = pytest.mark.usefixtures("place")


@whorl.step
async def write(number: int) -> int:
    whorl.current_call().emit("<b>text</b>")
    if number > 2:
        raise ValueError("<too> many")
    return number


@whorl.workflow
def writing() -> int:
    with whorl.loop(at_most=5) as turns:
        number = write(turns.iteration)
        turns.score(number / 4, at_least=1.0)
    return number


async def test_a_cell_shows_text_iterations_and_the_end_and_runs_nothing_of_them() -> None:
    async with whorl.Session() as session:
        run = await session.start(writing)
        view, drawn = View(run.id), []
        async for event in run.stream():
            view.take(event)
            drawn.append(view.html())

    assert any("<pre>&lt;b&gt;text&lt;/b&gt;</pre>" in each for each in drawn)
    assert drawn[-1].count("<tr>") == 4
    assert "turns[2]</td><td>0.50</td>" in drawn[-1]
    assert "</b> failed" in drawn[-1]
    assert "&lt;too&gt; many" in drawn[-1]
    assert not any("<b>text" in each or "<too>" in each for each in drawn)


@pytest.mark.parametrize("is_installed", [False, True])
def test_outside_of_notebooks_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    package = ModuleType("IPython")
    package.get_ipython = lambda: None  # type: ignore[attr-defined]
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, package if is_installed else None)

    async def main() -> None:
        async with whorl.Session() as session:
            await (await session.start(writing)).view()

    with pytest.raises(whorl.UsageError, match="needs a notebook") as caught:
        asyncio.run(main())
    assert "run.stream()" in (caught.value.help or "")
