"""`whorl run` with a folder or a name in the place of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

ONE = "whorl: 1\nname: {name}\nsteps: {{a: {{value: {name}}}}}\noutputs: {{a: '{{{{ a }}}}'}}\n"


@pytest.fixture
def flows(project: Path) -> Path:
    for file in project.glob("*.yaml"):
        file.unlink()
    (project / "flows" / "sub").mkdir(parents=True)
    (project / "flows" / "one.yaml").write_text(ONE.format(name="first"))
    (project / "flows" / "notes.yaml").write_text("just: notes\n")
    (project / "flows" / "one.test.yaml").write_text(
        "whorl_tests: 1\ntests: {x: {expect: {output: first}}}\n"
    )
    (project / "flows" / "sub" / "two.yaml").write_text(ONE.format(name="second"))
    return project


def test_a_folder_means_its_only_workflow(whorl: Whorl, flows: Path) -> None:
    assert whorl("run flows").ends(0, "flows is flows/one.yaml").out == "first\n"
    # Those below count where it has none of its own.
    (flows / "flows" / "sub" / "deep").mkdir()
    (flows / "flows" / "sub" / "two.yaml").rename(flows / "flows" / "sub" / "deep" / "two.yaml")
    assert whorl("run flows/sub/").ends(0).out == "second\n"
    (flows / "flows" / "three.yaml").write_text(ONE.format(name="third"))
    several = whorl("run flows").ends(2, "'flows' has 2 workflows")
    several.says("flows/one.yaml", "flows/three.yaml")
    (flows / "empty").mkdir()
    whorl("run empty").ends(2, "there is no workflow in the folder 'empty'")


def test_a_name_is_that_of_a_file_or_of_a_workflow(
    whorl: Whorl, flows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert whorl("run one").ends(0, "one is flows/one.yaml").out == "first\n"
    assert whorl("run Second").ends(0, "Second is flows/sub/two.yaml").out == "second\n"
    monkeypatch.chdir(flows / "flows" / "sub")
    assert whorl("run one").ends(0, "one is ../one.yaml").out == "first\n"
    monkeypatch.chdir(flows)
    # The name of a file comes first; two of one kind are refused.
    (flows / "second.yaml").write_text(ONE.format(name="other"))
    assert whorl("run second").ends(0).out == "other\n"
    (flows / "flows" / "sub" / "one.yml").write_text(ONE.format(name="fourth"))
    both = whorl("run one").ends(2, "error[W903]", "'one' could be")
    both.says("flows/one.yaml", "flows/sub/one.yml")
    whorl("run nothing").ends(2, "'nothing' does not exist")


def test_a_name_is_found_in_a_configuration_folder_of_mcp_cli(
    whorl: Whorl, flows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (flows / "whorl.toml").unlink()
    (flows / "config.yaml").write_text("includes: {workflows: config/workflows}\n")
    (flows / "config" / "workflows").mkdir(parents=True)
    (flows / "config" / "workflows" / "mine.yaml").write_text(ONE.format(name="own"))
    monkeypatch.chdir(flows / "flows")
    assert whorl("run mine").ends(0).out == "own\n"
