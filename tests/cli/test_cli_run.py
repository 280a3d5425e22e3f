"""`whorl run`: outputs, inputs, files, limits, exit codes, dry runs, and names of workflows."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


SEVERAL = """
whorl: 1
name: several
steps: {w: {ask: "Write it"}}
outputs: {text: "{{ w }}", facts: {words: 2, ok: true}, nothing: null}
"""


def test_several_outputs_stand_below_their_names_and_one_alone(whorl: Whorl, project: Path) -> None:
    (project / "several.yaml").write_text(SEVERAL)
    done = whorl("run several.yaml").says("\n  null: nothing\n")

    facts = '{\n  "words": 2,\n  "ok": true\n}'
    assert done.out == f"text:\ndraft one\n\nfacts:\n{facts}\n\nnothing:\nnull\n"
    for value, printed in {
        '"{{ w }}"': "draft one\n",
        '["{{ w }}"]': '[\n  "draft one"\n]\n',
    }.items():
        text = SEVERAL.partition("outputs")[0] + f"outputs: {{text: {value}}}\n"
        (project / "one.yaml").write_text(text)
        assert whorl("run one.yaml").out == printed


def test_json_is_the_result_document(whorl: Whorl) -> None:
    result = whorl("run polish.yaml x --json").json

    keys = "run status output outputs loops usage warnings error parent paused_by waiting_for"
    assert list(result) == keys.split()
    assert result["status"] == "succeeded"
    assert result["outputs"] == {"text": "the report", "draft": "draft three"}
    assert result["usage"]["calls"] == 7
    assert result["loops"][0]["path"] == "polish"
    assert result["loops"][0]["best_iteration"] == 3


def test_events_are_the_journal_in_order(whorl: Whorl) -> None:
    done = whorl("run polish.yaml x --events").ends(0)

    events = [json.loads(line) for line in done.out.splitlines()]
    journal = [event for event in events if event["seq"] is not None]
    assert [event["seq"] for event in journal] == list(range(1, len(journal) + 1))
    assert journal[0]["kind"] == "run.started"
    assert journal[-1]["kind"] == "run.finished"
    streamed = [event for event in events if event["seq"] is None]
    assert {event["kind"] for event in streamed} == {"task.text"}
    assert "draft one" in [event["text"] for event in streamed]


def test_inputs(whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "text.txt").write_text("from a file")
    (project / "text.json").write_text('"a value"')
    for words, task in {
        "-i task=plain": "plain",
        "-i 'task:=\"quoted\"'": "quoted",
        "-i task=@text.txt": "from a file",
        "-i task:=@text.json": "a value",
        "-": "from stdin",
        "-i task=@-": "from stdin",
        "-i task=a=b": "a=b",
    }.items():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from stdin")))
        whorl(f"run polish.yaml {words}").ends(0)
        assert whorl("show last --json").json["input"] == {"task": task}


@pytest.mark.slow
def test_an_input_may_hold_as_many_values_as_over_http(whorl: Whorl, project: Path) -> None:
    file = project / "list.yaml"
    file.write_text("whorl: 1\ninputs: {xs: list}\nsteps:\n  n: {value: '{{ xs | length }}'}\n")
    (project / "xs.json").write_text(json.dumps([[0]] * 49_000))
    whorl("run list.yaml -i xs:=@xs.json").ends(0)
    (project / "xs.json").write_text(json.dumps([0] * 100_001))

    refused = whorl("run list.yaml -i xs:=@xs.json").ends(2, "holds more than 100,000 values")

    assert "is not JSON" not in refused.err
    assert "needs quotes" not in refused.err


def test_permission_for_commands(whorl: Whorl, project: Path) -> None:
    for allowed, code in {'["ls"]': 1, '["touch"]': 0, "true": 0}.items():
        (project / "ran.txt").unlink(missing_ok=True)
        (project / "whorl.toml").write_text(f"{CONFIG}\n[allow]\ncommands = {allowed}\n")
        whorl("run commanding.yaml").ends(code)
        assert (project / "ran.txt").exists() == (code == 0)


LONG = """
whorl: 1
steps:
  l:
    repeat:
      until: [{judge: "It is good"}]
      at_most: 3
      steps:
        nap: {wait: 1h}
        w: {ask: "Write", returns: {kind: {enum: [short, long]}, tags: [string]}}
  check: {approve: {message: "Publish?"}}
outputs: {kind: "{{ l.w.kind }}", ok: "{{ check.approved }}"}
"""


def test_dry_run_sends_and_stores_nothing(whorl: Whorl, project: Path) -> None:
    """It opens gates, waits in no time and lets the judge say yes last."""
    (project / "long.yaml").write_text(LONG)
    done = whorl("run polish.yaml x --dry-run --json").ends(0, "nothing is sent, nothing is stored")
    long = whorl("run long.yaml --dry-run --json").json

    assert done.json["dry_run"] is True
    assert done.json["loops"][0]["iterations"] == 5
    assert done.json["outputs"]["text"] == "(invented answer of report)"
    assert (long["loops"][0]["stopped_by"], long["loops"][0]["iterations"]) == ("judge", 3)
    assert long["outputs"] == {"kind": "short", "ok": True}
    assert not (project / ".whorl").exists()


BATCH = """
whorl: 1
inputs: {table: {type: file, default: reviews.csv}}
steps:
  rows: {read: "{{ table }}", as: csv}
  labels:
    each: "{{ rows.content }}"
    as: row
    steps: {label: {ask: "Write about {{ row.text }}"}}
  save: {write: out/labels.csv, content: "{{ labels }}", as: json}
outputs: {file: "{{ save.path }}", count: "{{ labels | length }}"}
"""


def test_dry_run_reads_files_or_invents_their_rows(whorl: Whorl, project: Path) -> None:
    (project / "batch.yaml").write_text(BATCH)
    for rows, made in ((1, "1 call"), (3, "3 calls")):
        if rows == 3:
            (project / "reviews.csv").write_text("id,text\n" + "1,Good\n" * rows)
        words = f"it would have made {made}"
        whorl("run batch.yaml --dry-run").ends(0, words)
        told = whorl("run batch.yaml --dry-run --json").json
        # As of a run, reading and writing files is no call.
        assert told["usage"]["calls"] == rows
        assert told["outputs"] == {"file": "out/labels.csv", "count": rows}
    assert not (project / "out").exists()


def test_control_is_not_printed(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = project / "whorl.toml"
    config.write_text(config.read_text().replace('"the report"', '"a\\u001b[2Jb\\nc"'))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    done = whorl("run polish.yaml x")

    assert "\x1b" not in done.out
    assert done.out.startswith("text:\na␛[2Jb\nc\n")


FILES = """
whorl: 1
name: pages
inputs: {pages: files, names: {type: list, default: []}}
steps:
  out: {value: "{{ pages + names }}"}
"""


def test_the_only_file_that_a_workflow_needs_is_its_text(whorl: Whorl, project: Path) -> None:
    file = project / "letter.yaml"
    file.write_text(FILES.replace("pages: files", "pages: file").replace(" + names", ""))
    (project / "a.txt").touch()
    alone = whorl("run letter.yaml a.txt --json")
    file.write_text(FILES.replace("pages: files", "pages: file, other: file"))

    assert alone.json["outputs"] == {"out": "a.txt"}
    whorl("run letter.yaml a.txt").says("takes no text; its inputs: -i pages=..., -i other=...")


LOOKING = """
whorl: 1
name: looking
inputs: {note: file, more: {type: files, default: []}}
steps:
  text: {read: "{{ note }}"}
  others: {ask: "Write about it", files: "{{ more }}"}
outputs: {text: "{{ text.content }}"}
"""


@pytest.fixture
def sub(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is below the project's."""
    (project / "looking.yaml").write_text(LOOKING)
    folder = project / "sub" / "notes"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("the note")
    monkeypatch.chdir(project / "sub")
    return project / "sub"


def test_paths_are_seen_from_the_current_folder(whorl: Whorl, sub: Path, project: Path) -> None:
    """Those that a file writes are seen from the project."""
    run = "run ../looking.yaml --json"
    for path in ("notes/a.md", "./notes/../notes/a.md", str(sub / "notes" / "a.md")):
        assert whorl(f"{run} -i note={path}").ends(0).json["outputs"] == {"text": "the note"}
    for more in ("more=notes/a.md", 'more=["notes/a.md"]', 'more:=["notes/a.md"]'):
        whorl(f"{run} -i note=notes/a.md -i '{more}'").ends(0)
        whorl("show last/others --json").prints("sub/notes/a.md")
    outside = "error[R111]: -i note: '../../outside.md' is outside of the project"
    whorl(f"{run} -i note=../../outside.md").ends(2, outside, "copy it into the project")
    whorl("run ../looking.yaml -i note=b.md").ends(2, "'sub/b.md' does not exist")
    tried = whorl("try ../looking.yaml --at text -i note=notes/a.md --json").ends(0).json
    whorl(f"show {tried['run']}/text").prints("the note")
    kept = whorl("server schedule add ../looking.yaml --every 1h -i note=notes/a.md --json").ends(0)
    assert "sub/notes/a.md" in json.dumps(kept.json)

    default = LOOKING.replace("note: file", "note: {type: file, default: sub/notes/a.md}")
    (project / "looking.yaml").write_text(default)
    assert whorl(run).json["outputs"] == {"text": "the note"}
    (project / "t.yaml").write_text("whorl: 1\nsteps:\n  a: {read: /etc/hostname}\n")
    whorl("run ../t.yaml").says("is absolute; write it relative to the project's folder")


SAY = """
version: 2
metadata: {{name: Say {word}}}
nodes:
  - id: say
    type: constant
    position: {{x: 0, y: 0}}
    data: {{nodeType: constant, label: Say, valueType: string, value: {word},
      outputs: [{{name: value, type: string}}]}}
edges: []
"""
NAMED = """
$schema: workflow/v2.0
name: {name}
version: 1.0.0
execution: {{provider: canned, model: m}}
steps:
  - {{name: write, run: "Write {{{{input}}}}"}}
"""


@pytest.fixture
def shop(project: Path) -> Path:
    for folder in (".robomesh/workflows", "workflows/components", "src"):
        (project / folder).mkdir(parents=True)
    for path, word in (
        (".robomesh/workflows/greet.yaml", "first"),
        ("workflows/greet.yaml", "second"),
        ("workflows/v1.2.yml", "dotted"),
        (".robomesh/plan.yaml", "planned"),
        ("workflows/components/part.yaml", "part"),
    ):
        (project / path).write_text(SAY.format(word=word))
    return project


def test_short_names_are_stems(shop: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, word, path in (
        ("greet", "first", ".robomesh/workflows/greet.yaml"),
        ("v1.2", "dotted", "workflows/v1.2.yml"),
        ("plan", "planned", ".robomesh/plan.yaml"),
    ):
        assert whorl("run", name).ends(0, f"{name} is {path}").out.strip() == word
    for name in ("greet.yaml", "Say first", "components/part"):
        whorl("run", name, "x").ends(2, "does not exist")

    (shop / "whorl.toml").unlink()
    monkeypatch.chdir(shop / "src")
    assert whorl("run greet").out.strip() == "first"
    assert (shop / ".whorl").is_dir()
    monkeypatch.chdir(shop)
    (shop / "greet").write_text(SAY.format(word="itself"))
    assert whorl("run greet").out.strip() == "itself"


def test_home_is_no_project(shop: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "whorl.toml").unlink()
    monkeypatch.setenv("HOME", str(shop))
    monkeypatch.chdir(shop / "src")

    whorl("run greet").ends(2)


def test_a_name_inside_of_a_file_counts_where_it_means_one(project: Path, whorl: Whorl) -> None:
    for path, name in {"flows/dev": "polish_it", "a": "twice", "b": "twice"}.items():
        (project / path).mkdir(parents=True)
        (project / path / "x.yaml").write_text(NAMED.format(name=name))

    for name in ("polish_it", "dev/polish_it", "flows/dev/polish_it"):
        assert whorl("run", name, "x").out.strip() == "draft one"
        whorl("validate", name).ends(0)
    whorl("run x x").ends(2)
    whorl("run twice x").ends(2, "'twice' could be a/x.yaml, b/x.yaml")
    whorl("run a/twice x").ends(0)


def _show(whorl: Whorl, run: str = "last") -> str:
    return whorl(f"show {run}").out


def test_a_resume_keeps_models_and_prompts(whorl: Whorl, project: Path) -> None:
    whorl("run failing.yaml --model other --prompt 'first=Write {{ 1 + 1 }}'").ends(1)
    config = CONFIG.replace('{status = 400, text = "no such model"}', '"fine"')
    (project / "whorl.toml").write_text(config)
    whorl("resume last --trust").ends(0)
    shown = _show(whorl)
    assert "  model: other (--model)\n" in shown
    assert "  prompt of first: Write {{ 1 + 1 }} (--prompt)\n" in shown
    assert "✓ second  canned/other" in shown
    assert "Write 2" in whorl("show last/first").out


@pytest.mark.parametrize("command", ["run polish.yaml x", "fork last --at polish[1]"])
def test_steps_that_are_not_there_are_errors_that_name_near_ones(
    whorl: Whorl, command: str
) -> None:
    whorl("run polish.yaml x").ends(0)
    whorl(f"{command} --model reviw=other").ends(2, "'reviw' does not name one step", "review")
    whorl(f"{command} --prompt lenght=x").ends(2, "'lenght' does not name one step")
    whorl(f"{command} --prompt review").ends(2, "--prompt 'review' has no value")
    whorl(f"{command} --model a --model b").ends(2, "--model is given twice")
    whorl("run commanding.yaml --model other").ends(2, "no step of 'commanding' asks a model")


def test_a_prompt_out_of_a_file_and_a_key(whorl: Whorl, project: Path) -> None:
    (project / "short.md").write_text("Report in one line: {{ polish.write }}")
    command = "run polish.yaml x --key k --prompt report=@short.md --json"
    run = whorl(command).json["run"]
    assert "Report in one line: draft three" in whorl("show last/report").out
    assert whorl(command).json["run"] == run
    other = whorl("run polish.yaml x --key k --model other").ends(2, "the key 'k' belongs to run")
    other.says("started with other files, inputs, models or mocks")


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


def test_a_name_is_found_in_a_configuration_folder_of_mcp_cli(
    whorl: Whorl, flows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (flows / "whorl.toml").unlink()
    (flows / "config.yaml").write_text("includes: {workflows: config/workflows}\n")
    (flows / "config" / "workflows").mkdir(parents=True)
    (flows / "config" / "workflows" / "mine.yaml").write_text(ONE.format(name="own"))
    monkeypatch.chdir(flows / "flows")
    assert whorl("run mine").ends(0).out == "own\n"


def test_quiet_prints_the_result_alone(whorl: Whorl) -> None:
    done = whorl("run polish.yaml x -q").ends(0)
    assert (done.out, done.err) == ("text:\nthe report\n\ndraft:\ndraft three\n", "")
    failed = whorl("run failing.yaml --quiet").ends(1, "✗ failed", "error[", "next: ")
    assert failed.out == ""
    assert "at most" not in failed.err
    waiting = whorl("run gated.yaml -q").ends(4, "waiting", "Publish it?")
    assert waiting.out == ""
    whorl("run gone.yaml -q").ends(2, "error[")
    # The next command speaks again.
    whorl("run polish.yaml x").ends(0, "next: ")


def test_strict_makes_a_limit_a_failure(whorl: Whorl) -> None:
    whorl("run polish.yaml x --strict").ends(0)
    short = "run polish.yaml x --max-iterations 1"
    whorl(short).ends(0, "! limit")
    whorl(f"{short} --strict").ends(1, "! limit")
    whorl(f"{short} --strict --json").ends(1)
    whorl("continue last -n 1 --strict").ends(1, "! limit")
    whorl("continue last -n 3 --strict -q").ends(0)


def test_documents_are_written_to_files_in_the_form_of_their_ending(
    whorl: Whorl, project: Path
) -> None:
    whorl("run polish.yaml x").ends(0)
    whorl("runs cost -o out/cost.json").ends(0, "wrote out/cost.json")
    assert json.loads((project / "out" / "cost.json").read_text())["total"]
    done = whorl("runs cost -o cost.txt").ends(0)
    assert done.out == ""
    assert (project / "cost.txt").read_text() == whorl("runs", "cost").out
    whorl("runs cost -o cost.csv").ends(2, "this command writes no .csv file", ".json")
    whorl("file graph flow.yaml -o flow.pdf").ends(2, "this command writes no .pdf file", ".svg")
    whorl("file schema -o schema.json").ends(0)
    assert "properties" in json.loads((project / "schema.json").read_text())
    whorl("file graph polish.yaml -o polish.svg").ends(0)
    assert (project / "polish.svg").read_text().startswith("<svg")
    whorl("file graph polish.yaml -o polish.mmd").ends(0)
    assert (project / "polish.mmd").read_text().startswith("flowchart")
    whorl("file graph polish.yaml --text -o polish.txt").ends(0)

    (project / "e.experiment.yaml").write_text(
        'experiment: 1\nworkflow: polish.yaml\ncases: [{task: a}, {task: b}]\ngrade: "1"\n'
    )
    whorl("experiment run e.experiment.yaml").ends(0)
    whorl("experiment report e.experiment.yaml -o report.csv").ends(0)
    assert (project / "report.csv").read_text().count("\n") == 3
    whorl("experiment report e.experiment.yaml -o report.md").ends(0)
    assert "|" in (project / "report.md").read_text()
    whorl("experiment report e.experiment.yaml -o report.json").ends(0)
    assert json.loads((project / "report.json").read_text())
    whorl("experiment what-if last --at-most 2 -o what.json").ends(0)
    assert json.loads((project / "what.json").read_text())
    # The file that is read is not written, and a command that fails writes nothing.
    whorl("experiment report e.experiment.yaml -o e.experiment.yaml").ends(2, "is the file itself")
    whorl("runs cost gone -o gone.json").ends(2)
    assert not (project / "gone.json").exists()
