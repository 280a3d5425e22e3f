"""The one path rule: files of the project and nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.source.paths import open_beside

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "project"
    (root / "flows").mkdir(parents=True)
    (root / "main.yaml").write_text("a: 1")
    (root / "flows" / "part.yaml").write_text("b: é", encoding="utf-8")
    return root


OUTSIDE = ("absolute", "URL", "'~'", "backslash", "'%'", "outside of the project", "hidden files")


def refusal(project: Path, reference: str, *, size_max: int = 1000) -> Diagnostic:
    with pytest.raises(InvalidWorkflow) as caught:
        open_beside(
            str(project / "flows" / "part.yaml"),
            reference,
            root=str(project),
            size_max=size_max,
            span=Span("part.yaml", 3, 4),
        )
    (found,) = caught.value.diagnostics
    is_outside = any(words in found.message for words in OUTSIDE)
    assert (found.code, found.span) == ("W027" if is_outside else "W016", Span("part.yaml", 3, 4))
    return found


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        *(("", "has no name"), (" ", "has no name"), ("/etc/passwd", "absolute")),
        *(("//host/share", "URL"), ("~/x.yaml", "'~'"), ("~root/x.yaml", "'~'")),
        *(("a\0b", "control character"), ("a\nb", "control character")),
        *(("..\\x.yaml", "backslash"), ("%2e%2e/x.yaml", "'%'"), ("file:///etc/passwd", "URL")),
        *(("https://example.org/x.yaml", "URL"), ("C:/x.yaml", "drive"), ("x" * 2000, "longer")),
        *(("x" * 300, "too long"), ("../../secret.txt", "outside of the project")),
        ("../../project-2/x.yaml", "outside of the project"),
        *(("missing.yaml", "does not exist"), ("part.yaml/x", "does not exist")),
        *(("../flows", "a folder, not a file"), (".", "a folder, not a file")),
    ],
)
def test_other_references_are_refused_with_the_reason(
    project: Path, reference: str, part: str
) -> None:
    assert part in refusal(project, reference).message


@pytest.mark.parametrize(
    "reference",
    [
        *(".env", "../.env", ".git/config", "./../.hidden/../.env", "x/.y/z", "link.md"),
        *("../whorl.toml", "../Whorl.Toml", "../.whorl/whorl.db", "../.robomesh/a.json"),
        *("../.robomesh/.a.yaml", "../.robomesh/workflows/.git/a.yaml"),
    ],
)
def test_what_is_hidden_or_configures_is_closed(project: Path, reference: str) -> None:
    """Whether it is there or not, and by whatever way it is named."""
    (project / ".env").write_text("secret")
    (project / "flows" / "link.md").symlink_to(project / ".env")

    assert "not open to workflows" in refusal(project, reference).message


def test_a_configuration_of_another_name_is_closed(project: Path) -> None:
    (project / "Mine.toml").write_text("secret")
    with pytest.raises(InvalidWorkflow, match="not open to workflows"):
        open_beside(
            str(project / "main.yaml"),
            "Mine.toml",
            root=str(project),
            closed=frozenset({"mine.toml"}),
        )


def test_symbolic_links_may_not_lead_out(project: Path) -> None:
    (project / "flows" / "inside.yaml").symlink_to(project / "main.yaml")
    (project / "flows" / "outside.yaml").symlink_to(project.parent / "secret.txt")
    (project / "flows" / "folder").symlink_to(project.parent)
    (project / "flows" / "circle").symlink_to(project / "flows" / "circle")

    path, text = open_beside(str(project / "flows" / "part.yaml"), "inside.yaml", root=str(project))
    assert (path, text) == (str(project / "main.yaml"), "a: 1")
    assert "outside" in refusal(project, "outside.yaml").message
    assert "outside" in refusal(project, "folder/secret.txt").message
    assert "nowhere" in refusal(project, "circle").message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_named_pipe_is_refused_and_does_not_block(project: Path) -> None:
    os.mkfifo(project / "flows" / "pipe")

    assert "not a regular file" in refusal(project, "pipe").message


def test_the_size_is_limited(project: Path) -> None:
    (project / "flows" / "large.yaml").write_text("x" * 11)

    assert "10 bytes" in refusal(project, "large.yaml", size_max=10).message
