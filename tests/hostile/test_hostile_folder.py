"""Nothing of a cloned folder is executed, sent or written before a person trusts it.

Each test of a refusal has a counterpart that shows the same thing happen once it is trusted.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cloned import CONFIG, KEYS, Clone, call_tools, document, filled, served

if TYPE_CHECKING:
    from pathlib import Path

DRIVING = [
    *(("run", f"{name}.yaml") for name in ("nice", "cmd", "task", "tool", "agent", "call")),
    *(("run", "write.json", "x"), ("run", "nice.yaml", "--detach")),
    *(("continue", "loop", "--iterations", "1"), ("accept", "loop", "--iteration", "1")),
    ("fork", "loop", "--at", "l[1]"),
    *((verb, "gate") for verb in ("resume", "drive")),
    *(("runs", verb, "gate") for verb in ("approve", "reject")),
    ("try", "evil_lint:lint", "--at", "s"),
]
# With the exit code where it is not 0.
_LOOKS = """
    validate nice.yaml cmd.yaml task.yaml tool.yaml write.json; file graph tool.yaml
    run nice.yaml --dry-run; run tool.yaml --dry-run --json; file convert write.json
    test nice.yaml --run nice; test loop.yaml --run loop; ls; show loop; show gate --brief; why loop
    diff loop 1 2; runs cost; project memory ls; project prune --older-than 30d
    project trust --json; new; new self-refine ../refine.yaml
    file schema; help W908; --help"""
LOOKING = [
    *((words.strip(), 0) for words in _LOOKS.replace("\n", ";").split(";") if words.strip()),
    *(
        ("file lint nice.yaml", 2),
        ("watch gate", 4),
        ("project doctor", 1),
        ("project doctor --json", 1),
    ),
]


@pytest.mark.sample(8)
@pytest.mark.parametrize("words", DRIVING, ids=" ".join)
def test_what_drives_a_run_is_refused(clone: Clone, words: tuple[str, ...]) -> None:
    before = clone.contents()

    done = clone.whorl(*words)

    assert done.returncode == 2
    assert "error[W908]" in done.stderr
    assert "whorl project trust" in done.stderr
    assert clone.traces() == []
    assert clone.contents() == before


@pytest.mark.sample(12)
@pytest.mark.parametrize(("words", "code"), LOOKING)
def test_what_looks_works_and_does_nothing(clone: Clone, words: str, code: int) -> None:
    before = clone.contents()

    done = clone.whorl(*words.split())

    assert done.returncode == code, done.stderr
    assert clone.traces() == []
    assert clone.contents() == before


def test_completion_runs_nothing(clone: Clone) -> None:
    done = clone.whorl(_WHORL_COMPLETE="bash_complete", COMP_WORDS="whorl ru", COMP_CWORD="1")
    files = clone.whorl(_WHORL_COMPLETE="bash_complete", COMP_WORDS="whorl run n", COMP_CWORD="2")

    assert "run" in done.stdout
    assert files.stderr == ""
    assert clone.traces() == []


@pytest.mark.slow
def test_no_key_is_shown_or_stored_by_looking(clone: Clone) -> None:
    shown = (
        clone.whorl("project", "trust", "--json").stdout + clone.whorl("project", "doctor").stdout
    )

    assert not [key for key in KEYS.values() if key in shown]
    kinds = {
        right["kind"] for right in document(clone.whorl("project", "trust", "--json"))["permits"]
    }
    sending = {"addresses", "notify", "network"}
    assert kinds == {"commands", "code", "programs", "files", "prices", "deletion"} | sending


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("words", "trace"),
    [
        *((("run", "nice.yaml"), "sent to /v1/chat/completions"), (("run", "cmd.yaml"), "command")),
        *((("run", "task.yaml"), "import"), (("run", "tool.yaml"), "mcp")),
        *((("run", "agent.yaml"), "agent"), (("run", "call.yaml"), "sent to /call")),
        (("runs", "approve", "gate"), "after-gate"),
        (("continue", "loop", "--iterations", "1"), "iteration"),
        (("project", "doctor"), "sent to /v1/models"),
    ],
    ids=str,
)
def test_once_it_is_trusted_it_happens(clone: Clone, words: tuple[str, ...], trace: str) -> None:
    """Otherwise the other tests would see nothing even if there were something."""
    trusted = clone.whorl("project", "trust", "--yes")

    clone.whorl(*words)

    assert trusted.returncode == 0, trusted.stderr
    assert trace in clone.traces()


def test_once_it_is_trusted_its_server_gets_the_keys_and_the_news(clone: Clone) -> None:
    clone.whorl("project", "trust", "--yes")

    done = clone.whorl("run", "nice.yaml")

    assert done.returncode == 0, done.stderr
    sent = dict(clone.listener.requests)
    asked, told = sent["/v1/chat/completions"], sent["/notify"]
    assert asked["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"
    assert asked["x-aws"] == KEYS["AWS_SECRET_ACCESS_KEY"]
    assert told["authorization"] == KEYS["ANTHROPIC_API_KEY"]


@pytest.mark.slow
def test_a_word_for_one_call_is_not_remembered(clone: Clone) -> None:
    once = clone.whorl("run", "cmd.yaml", "--trust")
    again = clone.whorl("run", "cmd.yaml")

    assert once.returncode == 0, once.stderr
    assert clone.traces()[0] == "command"
    assert "error[W908]" in again.stderr


def test_a_file_that_is_named_is_the_persons_own_word(clone: Clone) -> None:
    done = clone.whorl("run", "cmd.yaml", "--config", "whorl.toml")

    assert done.returncode == 0, done.stderr
    assert "command" in clone.traces()


@pytest.mark.sample(2)
@pytest.mark.parametrize("change", ["\n# nothing\n", '\n[keys.more]\nurl = "https://x.example"\n'])
def test_a_change_asks_again_and_shows_the_difference(clone: Clone, change: str) -> None:
    clone.whorl("project", "trust", "--yes")
    path = clone.folder / "whorl.toml"
    path.write_text(path.read_text() + change)
    clone.forget_traces()

    run, shown = clone.whorl("run", "cmd.yaml"), clone.whorl("project", "trust")
    told = document(clone.whorl("project", "trust", "--json"))

    assert "has changed since you trusted it" in run.stderr
    assert clone.traces() == []
    assert shown.returncode == 2
    is_new_right = "keys" in change
    assert ("+ send to addresses: 'https://x.example'" in shown.stdout) == is_new_right
    assert ("it permits the same as before" in shown.stdout) != is_new_right
    assert len(told["added"]) == int(is_new_right)
    assert told["standing"] == "changed"


def test_trust_is_for_one_path(clone: Clone, tmp_path: Path) -> None:
    below = clone.folder / "below"
    below.mkdir()
    shutil.copy(clone.folder / "cmd.yaml", below)

    # A folder above counts no more than one beside.
    inside = replace(clone, folder=below).whorl("run", "cmd.yaml")
    clone.whorl("project", "trust", "--yes")
    shutil.copytree(clone.folder, tmp_path / "other")
    moved = replace(clone, folder=tmp_path / "other").whorl("run", "cmd.yaml")

    assert ["error[W908]" in done.stderr for done in (inside, moved)] == [True] * 2
    assert clone.traces() == []


def test_a_link_to_a_trusted_file_is_not_trusted(clone: Clone, tmp_path: Path) -> None:
    """Else a stranger's folder could borrow the rights of one's own."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "whorl.toml").write_text("[allow]\ncommands = true\n")
    assert clone.whorl("project", "trust", str(own), "--yes").returncode == 0
    (clone.folder / "whorl.toml").unlink()
    (clone.folder / "whorl.toml").symlink_to(own / "whorl.toml")

    done = clone.whorl("run", "cmd.yaml")

    assert "error[W908]" in done.stderr
    assert clone.traces() == []


@pytest.mark.sample(3)
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
@pytest.mark.parametrize("what", ["file", "folder", "harmless"])
def test_what_another_user_owns_is_refused(clone: Clone, what: str) -> None:
    if what == "harmless":
        (clone.folder / "whorl.toml").write_text('[defaults]\nmodel = "m"\n')
    os.chown(clone.folder / "whorl.toml" if what != "folder" else clone.folder, 65534, 65534)

    words = ("run cmd.yaml", "run cmd.yaml --trust", "project trust --yes", "resume gate")
    refused = [clone.whorl(*one.split()) for one in words]
    looked = clone.whorl("validate", "cmd.yaml")
    traces = clone.traces()
    allowed = clone.whorl("run", "call.yaml", trusts=True)

    assert ["error[W909]" in done.stderr for done in refused] == [True] * 4
    assert looked.returncode == 0
    assert traces == []
    assert ("sent to /call" in clone.traces()) == (what != "harmless"), allowed.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [".whorl", ".whorl/whorl.db", ".whorl/whorl.db-wal"])
def test_a_store_that_is_a_link_is_not_opened(clone: Clone, tmp_path: Path, name: str) -> None:
    target = tmp_path / "precious"
    path = clone.folder / name
    if name == ".whorl":
        path.rename(target)
    else:
        target.write_text("precious")
        path.unlink(missing_ok=True)
    before = sorted(target.iterdir()) if target.is_dir() else target.read_text()
    path.symlink_to(target)

    done = [clone.whorl(*words) for words in (("ls",), ("show",), ("run", "nice.yaml", "--trust"))]
    doctor = clone.whorl("project", "doctor")

    assert all("symbolic link" in each.stderr for each in done), done
    assert "symbolic link" in doctor.stdout
    assert (sorted(target.iterdir()) if target.is_dir() else target.read_text()) == before


def test_a_detached_run_takes_no_module_of_the_folder(clone: Clone) -> None:
    """A folder without whorl.toml needs no trust, and its files are no code all the same."""
    (clone.folder / "whorl.toml").unlink()
    text = "whorl: 1\nname: pure\nsteps:\n  a: {value: 1}\n"
    (clone.folder / "pure.yaml").write_text(text)

    started = clone.whorl("run", "pure.yaml", "--detach")
    watched = clone.whorl("watch", started.stdout.strip())

    assert watched.returncode == 0, watched.stderr
    assert clone.traces() == []


@pytest.mark.slow
def test_a_folder_without_a_configuration_has_no_rights_and_needs_no_trust(clone: Clone) -> None:
    (clone.folder / "whorl.toml").unlink()

    for name in ("cmd", "task", "tool", "call", "agent"):
        done = clone.whorl("run", f"{name}.yaml")
        assert done.returncode in (1, 2)
        assert "W908" not in done.stderr

    assert clone.traces() == []


def test_serving_drives_nothing(clone: Clone) -> None:
    with served(clone) as (client, _):
        answers = _ask_everything(client)

    codes = [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]
    assert codes == [(403, "W908")] * len(answers)
    assert clone.traces() == []


def _ask_everything(client: Any) -> list[Any]:
    assert client.get("/healthz").status_code == 200
    runs = {run["name"]: run["id"] for run in client.get("/api/runs").json()["runs"]}
    assert client.get(f"/api/runs/{runs['loop']}").status_code == 200
    assert client.post("/api/validate", json={"workflow": "tool.yaml"}).status_code == 200
    files = ("nice.yaml", "cmd.yaml", "task.yaml", "tool.yaml", "agent.yaml", "call.yaml")
    answers = [client.post("/api/runs", json={"workflow": file}) for file in files]
    loop, gate = f"/api/runs/{runs['loop']}", f"/api/runs/{runs['gate']}"
    return [
        *answers,
        client.post(f"{loop}/continue", json={"iterations": 1}),
        client.post(f"{loop}/accept", json={"iteration": 1}),
        client.post(f"{loop}/fork", json={"at": "l[1]"}),
        client.post(f"{gate}/approve", json={"at": "check"}),
        client.post(f"{gate}/reject", json={"at": "check"}),
    ]


def test_a_tool_of_a_client_starts_nothing(clone: Clone) -> None:
    answers = call_tools(clone)

    assert [answer.structured_content["code"] for answer in answers] == ["W908"] * 4
    assert clone.traces() == []


@pytest.mark.slow
def test_once_it_is_trusted_a_tool_of_a_client_starts_all_of_it(clone: Clone) -> None:
    """The program of the folder's own MCP server among it."""
    clone.whorl("project", "trust", "--yes")
    call_tools(clone)

    assert {"sent to /v1/chat/completions", "command", "import", "mcp"} <= set(clone.traces())


SESSION = """
import asyncio, whorl
async def main():
    async with whorl.Session({options}) as session:
        print(session.run("gate").status)
        for file in ("nice.yaml", "cmd.yaml", "task.yaml", "tool.yaml", "agent.yaml"):
            try:
                run = await session.start(file)
                print((await run.result()).status)
            except whorl.UsageError as fault:
                print(fault.code)
        gate, is_asked = session.run("gate"), False
        for ask in (gate.approve(), gate.resume(budget=1.0), gate.resume()):
            try:
                await ask
                is_asked = True
                print("asked")
            except whorl.UsageError as fault:
                print(fault.code)
        if is_asked:
            await gate.result()
asyncio.run(main())
"""


def test_a_program_of_ones_own_drives_nothing(clone: Clone) -> None:
    store = clone.folder / ".whorl" / "whorl.db"
    gate = document(clone.whorl("show", "--brief", "gate", "--json"))["run"]
    code = SESSION.replace('"gate"', repr(gate))

    done = clone.python(code.format(options=""))
    traces = clone.traces()
    trusted = clone.python(code.format(options="trust=True"))

    assert done.stdout.split() == ["waiting", *["W908"] * 8], done.stderr
    assert traces == []
    assert trusted.stdout.split()[1] == "succeeded", trusted.stderr
    assert {"command", "import", "after-gate"} <= set(clone.traces())
    assert store.exists()


def test_a_table_in_python_is_the_programs_own_word(clone: Clone) -> None:
    table = {"allow": {"commands": True}}
    code = f"import whorl\nprint(whorl.run_sync('cmd.yaml', config={table!r}).status)"

    done = clone.python(code)

    assert done.stdout.strip() == "succeeded", done.stderr
    assert clone.traces() == ["command"]


def test_what_is_hashed_is_what_is_read(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is swapped between the look and the use is not the one that was trusted."""
    from whorl.services.configuration import sources as configuration
    from whorl.services.configuration.trust import remember
    from whorl.services.project import find_project

    environment = clone.environment()
    (clone.folder / "whorl.toml").write_text("[allow]\ncommands = ['git']\n")
    project = find_project(environment, folder=clone.folder)
    judged = project.configuration().judged
    assert judged is not None
    remember(environment, judged)
    reads = []
    original = configuration._read_bytes

    def swapping(path: Path) -> bytes:
        content = original(path)
        reads.append(path.name)
        path.write_text(filled(clone, CONFIG))
        return content

    monkeypatch.setattr(configuration, "_read_bytes", swapping)
    settings = project.settings()
    later = project.settings()

    assert settings.allow.commands == ("git",)
    assert settings.untrusted is None
    assert later.allow.commands is False
    assert later.untrusted is not None
    assert reads == ["whorl.toml"] * 2


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "section",
    [
        "[connectors]\nreplies = '$HOME/private.json'",
        "[providers.demo]\nkind = 'scripted'\nreplies = '$HOME/private.toml'",
    ],
)
def test_no_file_outside_is_read_for_replies(clone: Clone, section: str) -> None:
    """Its content could be sent away by a step that is answered with it."""
    path = clone.folder / "whorl.toml"
    path.write_text(section.replace("$HOME", str(clone.home)))

    looked = clone.whorl("validate", "nice.yaml")
    trusted = clone.whorl("run", "nice.yaml", "--trust")

    assert looked.returncode == 0, looked.stderr
    assert "private." in trusted.stderr
    assert "error[W901]" in trusted.stderr
