"""Native files that read and write files, and whose prompts lie in files, on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

PERMITTED = '\n[allow]\nfiles = {write = ["out/**"]}\n'
PAGES = """
whorl: 1
steps:
  people: {read: people.csv, as: csv}
  pages:
    each: "{{ people.content }}"
    as: row
    steps:
      page: {write: "out/{{ row.name }}.json", content: {hello: "{{ row.name }}"}, as: json}
  note: {write: "{{ workspace }}/note.txt", content: "all done"}
outputs: {sizes: "{{ pages | map(attribute='page.size') | list }}"}
"""
PROMPTED = """
whorl: 1
inputs: {task: string}
steps:
  first: {ask: {file: prompts/write.md}}
  gate: {approve: "Go on?"}
  second: {ask: {file: prompts/write.md}}
"""


def test_files_are_read_and_written_as_the_operator_permits(project: Path, whorl: Whorl) -> None:
    (project / "people.csv").write_text("name\nAda\nBo\n")
    (project / "pages.yaml").write_text(PAGES)
    (project / "whorl.toml").write_text(CONFIG)

    refused = whorl("run", "pages.yaml")
    assert (refused.code, "P125" in refused.err) == (1, True)
    assert 'files = {write = ["out/**"]}' in refused.err

    (project / "whorl.toml").write_text(CONFIG + PERMITTED)
    done = whorl("run", "pages.yaml", "--json").json

    assert done["outputs"] == {"sizes": [21, 20]}
    assert (project / "out/Bo.json").read_text() == '{\n  "hello": "Bo"\n}\n'
    assert (project / ".whorl/work" / done["run"] / "note.txt").read_text() == "all done"
    assert whorl("validate", "pages.yaml", "--json").json[0]["effects"]["writes"] == [
        "a path that is computed",
        "the workspace of its run",
    ]


def test_a_run_keeps_the_prompts_that_it_began_with(project: Path, whorl: Whorl) -> None:
    (project / "prompts").mkdir()
    prompt = project / "prompts/write.md"
    prompt.write_text("Write {{ task }}.\n")
    (project / "flow.yaml").write_text(PROMPTED)

    assert whorl("run", "flow.yaml", "a song").code == 4
    prompt.write_text("Report {{ task }}.\n")
    assert whorl("approve", "last").code == 0

    for step in ("first", "second"):
        assert "Write a song." in whorl("show", f"last/{step}", "--full").out
    assert "Report a song." not in whorl("show", "last", "--json", "--deep").out


def test_a_prompt_outside_of_the_project_is_refused(project: Path, whorl: Whorl) -> None:
    (project.parent / "secret.md").write_text("secret")
    (project / "flow.yaml").write_text("whorl: 1\nsteps: {a: {ask: {file: ../secret.md}}}\n")

    done = whorl("validate", "flow.yaml")

    assert (done.code, "is outside of the project" in done.err) == (2, True)


def test_a_mistake_in_a_prompt_is_shown_where_it_stands(project: Path, whorl: Whorl) -> None:
    (project / "one.md").write_text("All is well,\nbut {{ tsk }} is not.\n")
    (project / "flow.yaml").write_text(
        "whorl: 1\ninputs: {task: string}\nsteps: {a: {ask: {file: one.md}}}\n"
    )

    done = whorl("validate", "flow.yaml")

    assert done.code == 2
    assert "--> one.md:2:8" in done.err
    assert "but {{ tsk }} is not." in done.err
    assert "did you mean 'task'?" in done.err


def test_the_nearest_command_is_named(whorl: Whorl) -> None:
    assert "there is no command 'rn'; did you mean 'run'?" in whorl("rn").err
    assert "did you mean 'schedule'?" in whorl("schdule").err
    assert "did you mean '--json'?" in whorl("run", "--jsn").err
    assert "did you mean" not in whorl("zz").err


@pytest.mark.parametrize(
    ("group", "word", "meant"),
    [
        ("experiment", "rn", "run"),
        ("hook", "rotat", "rotate"),
        ("memory", "lss", "ls"),
        ("schedule", "pase", "pause"),
        ("token", "rotte", "rotate"),
        ("tools", "acept", "accept"),
    ],
)
def test_the_nearest_command_of_a_group_is_named(
    whorl: Whorl, group: str, word: str, meant: str
) -> None:
    told = whorl(group, word)

    assert told.code == 2
    assert f"there is no command {word!r}; did you mean {meant!r}?" in told.err
    assert f"`whorl {group} --help`" in told.err


def test_a_key_that_is_not_configured_is_named_before_the_run(project: Path, whorl: Whorl) -> None:
    (project / "whorl.toml").write_text(
        '[keys.search]\nurl = "https://api.example.com"\ntoken = "env:TOKEN"\n'
    )
    (project / "flow.yaml").write_text(
        'whorl: 1\nsteps: {a: {http: {url: "https://api.example.com", key: serch}}}\n'
    )

    done = whorl("run", "flow.yaml")

    assert done.code == 2
    assert "uses the key 'serch', which is not known" in done.err
    assert "did you mean 'search'?" in done.err
