"""`whorl edit`: the smallest change of a file, shown as a difference, or refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

FILE = "whorl: 1\nbudget: 1\nsteps:\n  # first\n  a: {ask: 'x'}\n  b: {ask: \"{{ a }}\"}\n"


def test_operations_change_a_file_and_keep_its_mode(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE)
    file.chmod(0o600)

    listed = whorl("edit", "e.yaml")
    shown = whorl("edit", "e.yaml", "rename", "a", "first", "--diff")
    done = whorl("edit", "e.yaml", "wrap", "a", "--name", "l", "--until", "a == 'x'")
    also = whorl("edit", "e.yaml", "set", "l", "repeat.at_most:=2")

    assert [listed.code, shown.code, done.code, also.code] == [0, 0, 0, 0]
    assert "a  (ask)" in listed.out
    assert '+  b: {ask: "{{ first }}"}' in shown.out
    assert '+  b: {ask: "{{ l.a }}"}' in done.out
    assert "rewired: b ask" in done.err
    assert "at_most: 2\n" in file.read_text()
    assert "        # first\n        a: {ask: 'x'}\n" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert whorl("validate", "e.yaml").code == 0
    assert "did you mean 'l/a'?" in whorl("edit", "e.yaml", "rename", "a", "first").err


def test_a_list_of_operations_is_applied_whole_or_not_at_all(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)
    operations = [
        {"operation": "set", "at": "a", "field": ["ask"], "value": "y"},
        {"operation": "remove", "at": "a"},
    ]
    (project / "list.json").write_text(json.dumps(operations))

    refused = whorl("edit", "e.yaml", "--operations", "list.json", "--json")
    left = whorl("edit", "e.yaml", "--operations", "list.json", "--readers", "leave", "--json")

    assert refused.code == 2
    assert refused.json["error"]["code"] == "C106"
    assert refused.json["error"]["operation"] == 1
    assert left.code == 0
    assert left.json["patches"]
    assert (project / "e.yaml").read_text() == left.json["text"]


def test_wrong_words_say_what_is_meant(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)

    assert "did you mean 'rename'?" in whorl("edit", "e.yaml", "renam", "a", "b").err
    assert "STEP NAME" in whorl("edit", "e.yaml", "rename", "a").err
    assert "C105" in whorl("edit", "e.yaml", "remove", "c").err
    assert (project / "e.yaml").read_text() == FILE


def test_problems_of_a_file_name_their_steps(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE.replace("{{ a }}", "{{ nobody }}"))

    shown = whorl("edit", "e.yaml", "--json")

    assert [found["node"] for found in shown.json["diagnostics"]] == ["b"]


def test_names_that_a_step_may_read_are_listed(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)

    assert "a  (text)  read by 1\n" in whorl("edit", "e.yaml", "names", "b").out
    assert "a" not in [
        one["name"] for one in whorl("edit", "e.yaml", "names", "a", "--json").json["names"]
    ]
    assert whorl("edit", "e.yaml", "names", "c").code == 2


def test_new_files_are_listed_empty_or_copied(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)

    listed = whorl("new", "--list")
    empty = whorl("new", "--empty", "studio")
    copied = whorl("new", "--from", "e.yaml")
    again = whorl("new", "--from", "e.yaml", "e-copy.yaml")

    assert listed.out.startswith("self-refine")
    assert "native, studio" in listed.out
    assert "--empty shodan" in listed.out
    assert empty.out == "whorl edit new.json\n"
    assert whorl("validate", "new.json").code == 0
    assert copied.code == 0
    assert (project / "e-copy.yaml").read_text() == FILE
    assert again.code == 2
    assert "known: native" in whorl("new", "--empty", "orka").err


def test_a_field_that_nobody_knows_is_refused(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE)

    refused = whorl("edit", "e.yaml", "set", "a", "modle", "x")
    document = whorl("edit", "e.yaml", "set", "a", "modle", "x", "--json")

    assert (refused.code, document.code) == (2, 2)
    assert "error[W004]: step 'a' has no field 'modle'" in refused.err
    assert "did you mean 'model'?" in refused.err
    assert document.json["error"]["code"] == "W004"
    assert file.read_text() == FILE


def test_a_field_that_was_wrong_before_hinders_nobody(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE.replace("{ask: 'x'}", "{ask: 'x', modle: m}"))

    done = whorl("edit", "e.yaml", "set", "b", "model", "m")

    assert done.code == 0
    assert "the file has 1 mistake now; see `whorl validate`" in done.err
