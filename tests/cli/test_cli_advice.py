"""Advice works when it is pasted: lines of whorl.toml, options, commands and addresses."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Done, Whorl

TOUCH = "whorl: 1\nname: touch\nsteps:\n  a: {run: [touch, made]}\n"
WRITE = "whorl: 1\nname: write\nsteps:\n  a: {write: out/a.txt, content: x}\n"
CALL = "whorl: 1\nname: call\nsteps:\n  a: {http: 'http://127.0.0.1:9/'}\n"
READ = "whorl: 1\nname: read\nsteps:\n  a: {read: docs/a.txt}\n"
HIDDEN = "whorl: 1\nname: hidden\nsteps:\n  a: {read: docs/a.txt}\n  b: {read: .docs/a.txt}\n"
FILES = {"touch.yaml": TOUCH, "write.yaml": WRITE, "call.yaml": CALL, "read.yaml": READ}
FILES |= {"hidden.yaml": HIDDEN}
LINE = re.compile(r"`(\w+) = ([^`]*)` below \[(\w+)\] in whorl.toml")


def paste(path: Path, words: str) -> None:
    """Does what a message says: the line takes the place of the one that is there, or is added."""
    match = LINE.search(words)
    assert match, words
    key, value, section = match.groups()
    lines = path.read_text().splitlines()
    lines = [line for line in lines if not line.startswith(f"{key} = ")]
    if f"[{section}]" not in lines:
        lines.append(f"[{section}]")
    lines.insert(lines.index(f"[{section}]") + 1, f"{key} = {value}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("file", "config", "permitted"),
    [
        ("touch", "", {"commands": ["touch"]}),
        ("touch", '[allow]\ncommands = ["git"]\n', {"commands": ["git", "touch"]}),
        (
            "write",
            '[allow]\nfiles = {read = ["docs/**"], write = ["x/**"]}\n',
            {"files": {"read": ["docs/**"], "write": ["x/**", "out/a.txt"]}},
        ),
        (
            "read",
            '[allow]\nfiles = {read = ["b"], write = ["x/**"]}\n',
            {"files": {"read": ["b", "docs/a.txt"], "write": ["x/**"]}},
        ),
        ("hidden", "", {"files": {"read": ["**", ".docs/a.txt"]}}),
        ("call", "[allow]\ncommands = true\n", {"commands": True, "private_network": ["IT"]}),
        ("call", '[allow]\nprivate_network = ["db:1"]\n', {"private_network": ["db:1", "IT"]}),
        ("call", '[allow]\nhosts = ["a"]\n', {"hosts": ["a", "127.0.0.1"]}),
    ],
)
def test_a_permission_is_advised_as_a_line_that_can_be_pasted(
    project: Path, whorl: Whorl, file: str, config: str, permitted: dict[str, object]
) -> None:
    for name, text in FILES.items():
        (project / name).write_text(text)
    for folder in ("docs", ".docs"):
        (project / folder).mkdir()
        (project / folder / "a.txt").write_text("a")
    config_file = project / "whorl.toml"
    config_file.write_text(config)

    refused = whorl("run", f"{file}.yaml")
    paste(config_file, refused.err)
    after = whorl("run", f"{file}.yaml")

    shown = config_file.read_text().replace("127.0.0.1:9", "IT")
    assert tomllib.loads(shown) == {"allow": permitted}
    advised = [LINE.search(done.err) for done in (refused, after)]
    assert advised[0]
    assert advised[1] is None or advised[1][1] != advised[0][1]
    # Nobody listens at the address.
    assert after.code == (0 if file != "call" else 1)


BRANCH = """
whorl: 1
name: branch
steps:
  first: {ask: "Write it"}
  fix:
    if: first != ''
    then:
      work:
        repeat:
          at_most: 3
          until: "false"
          steps:
            edit: {ask: "Write more"}
            bad: {ask: "Fail {{ iteration }}"}
"""
LONG = "a_rather_long_name_of_a_loop_that_takes_more_than_sixty_columns"
BOOK = """
whorl: 1
name: book
inputs: {count: {type: integer, default: 2}}
steps:
  chapters:
    each: "{{ range(count) | list }}"
    at_once: 2
    steps:
      a_rather_long_name_of_a_loop_that_takes_more_than_sixty_columns:
        repeat:
          at_most: 2
          until: {judge: "Is it good?"}
          steps:
            parts: {together: {write: {ask: "Write"}, note: {ask: "Write a note"}}}
            inner: {repeat: {at_most: 1, until: "false", steps: {w: {ask: "Write"}}}}
  end: {ask: "Report"}
"""
PLACES = {"branch.yaml": BRANCH, "book.yaml": BOOK}
# What looks like an address: a name with iterations, attempts or steps below it.
_NAME = r"[A-Za-z_:][\w%.-]*?"
_ADDRESS = re.compile(
    rf"(?<![\w/'])({_NAME}(?:\[\d+\])?(?:#\d+)?(?:/{_NAME}(?:\[\d+\])?(?:#\d+)?)*)(?=[:,)'\n]|  |$)"
)


def printed(text: str, steps: set[str]) -> set[str]:
    """The addresses in a text: those whose first part names a step of the file."""
    found = {match[1] for match in _ADDRESS.finditer(text)}
    return {address for address in found if re.split(r"[/\[#]", address)[0] in steps}


def looked_at(whorl: Whorl, run: str, said: str) -> str:
    """All that is said about a run."""
    texts = [said, whorl("show", run).out, whorl("why", run).out, whorl("show", "--brief", run).out]
    loops = [loop["path"] for loop in whorl("show", run, "--json").json["loops"]]
    for loop in loops[:3]:
        texts += [whorl("show", f"{run}/{loop}").out, whorl("show", f"{run}/{loop}[1]").out]
        texts.append(whorl("diff", f"{run}/{loop}", "1", "1").out)
    return "\n".join([*texts, whorl("ls", run).out])


def is_about_no_loop(done: Done) -> bool:
    """Whether a place is refused because no loop, or more than one, is there."""
    words = "has no loop|which loop|no finished|several loops"
    return done.code == 2 and bool(re.search(words, done.err))


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("file", "words", "least"),
    [
        ("polish.yaml", ("x",), {"polish", "report", "polish[1]/write"}),
        ("gated.yaml", (), {"draft", "check"}),
        ("branch.yaml", (), {"fix", "fix/work", "fix/work[1]/edit", "fix/work[1]/bad#2"}),
        ("book.yaml", (), {f"chapters[1]/{LONG}[2]/inner", f"chapters[2]/{LONG}"}),
        ("book.yaml", ("-i", "count:=4"), {f"chapters/{LONG}", "end"}),
    ],
)
def test_what_is_printed_can_be_asked_for(
    whorl: Whorl, project: Path, file: str, words: tuple[str, ...], least: set[str]
) -> None:
    for name, text in PLACES.items():
        (project / name).write_text(text)
    with (project / "whorl.toml").open("a") as config:
        config.write('[[providers.canned.replies]]\nmatch = "good"\nreplies = ["NO"]\n')
    said = whorl("run", file, *words).err
    run = whorl("ls", "--json").json[0]["run"]
    if file == "branch.yaml":
        said += whorl("resume", run).err
    steps = {re.split(r"[/\[#]", address)[0] for address in least}
    addresses = printed(looked_at(whorl, run, said), steps)

    assert least <= addresses
    for address in sorted(addresses):
        place = f"{run}/{address}"
        for command in ("show", "runs cost"):
            whorl(*command.split(), place).ends(0)
        assert whorl("runs", "cost", run, "--at", address).out == whorl("runs", "cost", place).out
        why, diff = whorl("why", place), whorl("diff", place, "1", "1")
        assert why.code == 0 or is_about_no_loop(why), f"why {place}: {why.err}"
        assert diff.code == 0 or is_about_no_loop(diff), f"diff {place}: {diff.err}"
        assert why.code == 0 or "[" not in address, f"why {place}: {why.err}"


def test_a_step_means_the_iteration_around_it(whorl: Whorl) -> None:
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]

    assert "forked from" in whorl("fork", f"{run}/polish[2]/write").err
    kept = whorl("show", "last", "--json").json
    assert (kept["parent"], kept["usage"]["model_calls"]) == (run, 5)
    assert whorl("accept", f"{run}/polish[2]/review").code == 0
    [loop] = whorl("show", run, "--json").json["loops"]
    assert (loop["exit_reason"], loop["returned_iteration"]) == ("accepted", 2)
    assert whorl("continue", f"{run}/polish[1]", "-n", "1").code == 0
    assert whorl("show", run, "--json").json["loops"][0]["iterations"] == 4
    assert "say which iteration" in whorl("accept", f"{run}/polish").err
    assert "say which iteration" in whorl("fork", run).err
    gated = whorl("run", "gated.yaml", "--json").json["run"]
    assert whorl("runs", "approve", f"{gated}/check").code == 0


def test_an_address_without_numbers_says_where_it_is(whorl: Whorl, project: Path) -> None:
    run = whorl("run", "polish.yaml", "x", "--json").json["run"]
    done = whorl("show", f"{run}/polish/write")

    assert done.code == 2
    assert "did you mean polish[1]/write, polish[2]/write, polish[3]/write?" in done.err
    steps = whorl("runs", "cost", run, "--by", "step", "--json").json["lines"]
    for step in steps:
        at = whorl("runs", "cost", run, "--at", step["name"], "--json").json["total"]
        assert at["cost_usd"] == pytest.approx(step["cost_usd"])
    (project / "branch.yaml").write_text(BRANCH)
    whorl("run", "branch.yaml")
    named = whorl("show", "last/fix@case.then/work[1]/edit").out
    assert named == whorl("show", "last/fix/work[1]/edit").out


CONFIG = """
[allow]
commands = true
private_network = ["127.0.0.1:9"]

[providers.mine]
base_url = "https://models.example.com/v1"
api_key = "env:MINE"
model = "m"

[providers.openai]

[keys.search]
url = "http://127.0.0.1:9"
token = "env:MINE"
"""


def test_a_variable_in_the_way_of_shells_is_refused(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text(CONFIG.replace('"env:MINE"\nmodel', '"${MINE}"\nmodel'))

    whorl("run polish.yaml x").says("error[W901]", "a variable is written 'env:MINE'")
