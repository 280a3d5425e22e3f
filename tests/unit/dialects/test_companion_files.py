"""The files that a conversion writes beside the main one."""

from __future__ import annotations

import pytest

from whorl.dialects.writing.checking import companion_files


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("child.json", "child.json"),
        ("flows/child.json", "child.json"),
        ("child", "child.json"),
        ("../../outside", "outside.json"),
        ("/etc/cron.d/job", "job.json"),
        ("..\\..\\outside", "outside.json"),
        ("C:evil", "C_evil.json"),
        ("..", "workflow.json"),
        ("sub/", "workflow.json"),
        ("../.hidden", "hidden.json"),
    ],
)
def test_they_stand_beside_the_main_file(key: str, name: str) -> None:
    assert companion_files([key], "main.json", ".json") == {key: name}


def test_they_have_names_of_their_own() -> None:
    found = companion_files(["a/x", "b/x", "main"], "main.json", ".json")

    assert sorted(found.values()) == ["main-2.json", "x-2.json", "x.json"]
