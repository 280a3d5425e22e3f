"""What the interface says about runs in words: the same as the command line does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from served import POLISH

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client


@pytest.mark.slow
def test_a_run_says_that_its_file_has_changed_since_it_began(client: Client, project: Path) -> None:
    run = client.start("polish.yaml", inputs={"task": "a haiku"})
    assert client.wait(run)["changed_file"] is None

    (project / "polish.yaml").write_text(POLISH.replace("Report on", "Report about"))

    assert client.get(f"/runs/{run}")["changed_file"] == "polish.yaml"
