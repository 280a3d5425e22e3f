"""Names of strangers steer no terminal: whatever a command prints, pictures stand for it.

They come from files, and from a store whose rows were changed by hand.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from cloned import Clone, empty_clone, served, write

import whorl.interfaces.cli
from whorl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = "x\x1b]0;PWN\x07\x1b[2J\x9b\u202ey\x7f"
WRITTEN = r"x\e]0;PWN\a\e[2J\x9b\u202ey\x7f"
# CSV has lines of its own.
STEERING = re.compile(
    "(?!\n|\t|\r\n)[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
FILES = {
    "n.yaml": f"""
whorl: 1
# a comment \u202e
name: "{WRITTEN}"
inputs: {{a: {{type: string, default: "{WRITTEN}"}}}}
steps:
  s: {{value: "{WRITTEN}"}}
  l: {{repeat: {{at_most: 2, memory: {{across_runs: true, key: "k", record: {{a: "{WRITTEN}"}}}},
       steps: {{v: {{value: "{{{{ iteration }}}}"}}}}}}}}
outputs: {{o: "{{{{ l.v }}}}"}}
""",
    "n.test.yaml": f'whorl_tests: 1\ntests:\n  "{WRITTEN}": {{expect: {{outputs: {{o: 9}}}}}}\n',
    "x.experiment.yaml": f"""
experiment: 1
name: "{WRITTEN}"
workflow: n.yaml
cases: [{{id: "{WRITTEN}"}}]
variants: {{"{WRITTEN}": {{}}, other: {{}}}}
grade: {{"{WRITTEN}": "1 == 1"}}
""",
    "bad.yaml": f'whorl: 1\nname: "{WRITTEN}"\nsteps: {{"{WRITTEN}": {{"{WRITTEN}": 1}}}}\n',
}
LOOKS = """ls; ls --all; ls --json; show last; show last --json; show last --brief; show --brief
why last; runs cost; runs cost last; diff last 1 2; server token ls; server schedule ls
server hook ls; project memory ls; project memory show k; experiment ls; server audit
server audit --json; project trust; project doctor; watch last; project prune --dry-run --keep 1
project tools ls; experiment what-if last; fork last --at l[1]; server schedule show x
server token rm nobody; resume --all; validate n.yaml bad.yaml; file graph n.yaml
file graph n.yaml --mermaid; file graph n.yaml --svg; file convert n.yaml; test n.test.yaml
file edit n.yaml; file edit n.yaml --list; file lint n.yaml --for loom; run n.yaml --dry-run
experiment run x.experiment.yaml; experiment report x.experiment.yaml
experiment report x.experiment.yaml --markdown; experiment report x.experiment.yaml --csv
experiment report x.experiment.yaml --json; experiment what-if x.experiment.yaml
experiment judge x.experiment.yaml; try n.yaml s; run n.yaml --events; run bad.yaml
run n.yaml -v --json; approve \x1b[2J; eval \x1b[2J; --workflow \x1b[2J
run n.yaml -i \x1b]0;PWN=1; run \x1b[2J.yaml; \x1b[2J; show \x1b[2J; help \x1b[2J"""
COMMANDS = [words.strip() for words in re.split(r"[;\n](?!PWN|\x07)", LOOKS)]


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Somebody with a store in which every name is hostile."""
    clone = empty_clone(tmp_path_factory.mktemp("hostile-names"))
    for name, text in FILES.items():
        write(clone, name, text)
    for words in (
        ("run", "n.yaml", "--key", "n", "--label", "a=b"),
        ("server", "token", "add", "evil", "--role", "read"),
        ("server", "schedule", "add", "n.yaml", "--every", "1h", "--name", "tick"),
        ("server", "hook", "add", "n.yaml", "--name", "hooked"),
        ("experiment", "run", "x.experiment.yaml"),
    ):
        done = clone.whorl(*words)
        assert done.returncode == 0, (words, done.stderr)
    _make_hostile(clone.folder / ".whorl" / "whorl.db")
    return clone


def _make_hostile(path: Path) -> None:
    database = apsw.Connection(str(path))
    for table, column in _named_columns(database):
        database.execute(f"UPDATE OR IGNORE {table} SET {column} = {column} || ?", (EVIL,))
    database.close()


def _named_columns(database: apsw.Connection) -> Iterator[tuple[str, str]]:
    wanted = {
        "tokens": {"name", "role", "made_by"},
        "schedules": {"name", "file", "made_by"},
        "hooks": {"name", "file", "made_by"},
        "audit": {"who", "what", "target", "action", "actor"},
        "memory": {"key", "loop"},
        "runs": {"name", "file"},
        "labels": {"name", "value"},
    }
    for table, names in wanted.items():
        columns = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
        yield from ((table, name) for name in sorted(names & columns))


@pytest.mark.sample(30)
@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(
    stranger: Clone, words: str, tmp_path: Path
) -> None:
    done = replace(stranger, home=tmp_path).whorl(*words.split())
    everything = done.stdout + done.stderr

    assert not STEERING.search(everything), ascii(everything)
    assert "I900" not in everything
    assert "Traceback" not in everything


@pytest.mark.slow
def test_the_log_of_a_server_is_clean(stranger: Clone, tmp_path: Path) -> None:
    with served(replace(stranger, home=tmp_path)) as (_, said):
        pass
    assert not STEERING.search("".join(said))


@pytest.mark.slow
def test_what_is_converted_is_the_same_workflow(stranger: Clone, tmp_path: Path) -> None:
    made = stranger.whorl("file", "convert", "n.yaml", "-o", str(tmp_path / "again.yaml"))
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "again.yaml").read_text()
    assert not STEERING.search(text)
    assert r"\u202ey" in text
    once = stranger.whorl("file", "graph", "n.yaml").stdout
    assert stranger.whorl("file", "graph", str(tmp_path / "again.yaml")).stdout == once


def test_the_words_of_an_error_in_python_are_clean() -> None:
    fault = UsageError(f"a {EVIL}\nb", help=f"c {EVIL}")
    assert str(fault).count("\n") == 1
    assert not STEERING.search(f"{fault} {fault.help}")


def test_no_module_of_the_command_line_prints_past_the_cleaning() -> None:
    folder = Path(whorl.interfaces.cli.__file__).parent
    printing = re.compile(r"click\.(echo|secho)\(|\bprint\(|sys\.std(out|err)\.write\(")
    found = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if printing.search(line) and "_console.print(" not in line
    ]
    assert [line for line in found if not line.startswith("terminal.py: ")] == []
