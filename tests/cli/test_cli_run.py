"""`whorl run`: outputs, inputs, limits, exit codes, dry runs, keys."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from command_line import POLISH, Whorl

if TYPE_CHECKING:
    from pathlib import Path


def test_plain_run_prints_only_the_outputs_on_stdout(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "a haiku")

    assert done.code == 0
    assert done.out == "text:\nthe report\n\ndraft:\ndraft three\n"
    assert "polish  1/5  score 0.41" in done.err
    assert "polish  2/5  score 0.63 (+.22)" in done.err
    assert "review.approved is false; score 0.63 < 0.95" in done.err
    assert "polish: condition_met (expression) after 3 iterations, returned iteration 3" in done.err
    assert "next: whorl why " in done.err


SEVERAL = """
whorl: 1
name: several
steps: {w: {ask: "Write it"}}
outputs: {text: "{{ w }}", facts: {words: 2, ok: true}, nothing: null}
"""


def test_several_outputs_stand_below_their_names(whorl: Whorl, project: Path) -> None:
    (project / "several.yaml").write_text(SEVERAL)

    done = whorl("run", "several.yaml")

    facts = '{\n  "words": 2,\n  "ok": true\n}'
    assert done.out == f"text:\ndraft one\n\nfacts:\n{facts}\n\nnothing:\nnull\n"
    assert "\n  null: nothing\n" in done.err


@pytest.mark.parametrize("value", ['"{{ w }}"', '["{{ w }}"]'])
def test_one_output_is_printed_as_it_is(whorl: Whorl, project: Path, value: str) -> None:
    text = SEVERAL.partition("outputs")[0] + f"outputs: {{text: {value}}}\n"
    (project / "one.yaml").write_text(text)

    expected = {'"{{ w }}"': "draft one\n", '["{{ w }}"]': '[\n  "draft one"\n]\n'}
    assert whorl("run", "one.yaml").out == expected[value]


def test_a_forecast_below_a_cent_is_told(whorl: Whorl) -> None:
    said = whorl("run", "gated.yaml", "--budget", "0.003").err

    assert "at most $0.003, the budget" in said
    assert "$0.00\n" not in said


def test_worst_case_and_its_cost_are_shown_before_the_run(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "--budget", "3")

    said, first = done.err.splitlines()[:2]
    assert "scripted" in said
    assert first.startswith("at most 49 calls (11 without retries), about $1.")
    assert first.endswith("; at most $3.00, the budget")


def test_max_iterations_is_in_the_worst_case(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "--max-iterations", "1", "--json")

    assert done.err.splitlines()[1].startswith("at most 13 calls (3 without retries)")
    assert done.json["loops"][0]["exit_reason"] == "max_iterations"
    assert done.json["loops"][0]["iterations"] == 1
    assert "R102" in [warning["code"] for warning in done.json["warnings"]]


def test_json_is_the_result_document(whorl: Whorl) -> None:
    result = whorl("run", "polish.yaml", "x", "--json").json

    assert list(result) == [
        "run",
        "status",
        "output",
        "outputs",
        "loops",
        "usage",
        "warnings",
        "error",
        "parent",
        "paused_by",
        "waiting_for",
    ]
    assert result["status"] == "succeeded"
    assert result["outputs"] == {"text": "the report", "draft": "draft three"}
    assert result["usage"]["calls"] == 7
    assert result["loops"][0]["path"] == "polish"
    assert result["loops"][0]["best_iteration"] == 3


def test_json_has_the_warnings_of_the_file(whorl: Whorl, project: Path) -> None:
    steps = "{fine: {ask: Is it fine?}, then: {if: '{{ fine }}', set: {x: 1}}}"
    (project / "odd.yaml").write_text(f"whorl: 1\nname: odd\nsteps: {steps}\n")

    assert whorl("run", "odd.yaml", "--json").json["warnings"][0]["code"] == "W023"


def test_events_are_the_journal_in_order(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "--events")

    events = [json.loads(line) for line in done.out.splitlines()]
    journal = [event for event in events if event["seq"] is not None]
    assert done.code == 0
    assert [event["seq"] for event in journal] == list(range(1, len(journal) + 1))
    assert journal[0]["kind"] == "run.started"
    assert journal[-1]["kind"] == "run.finished"
    streamed = [event for event in events if event["seq"] is None]
    assert {event["kind"] for event in streamed} == {"task.text"}
    assert "draft one" in [event["text"] for event in streamed]


def test_verbose_shows_every_step(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "-v")

    assert "✓ polish[1]/write  canned/m" in done.err
    assert "✓ report  canned/m" in done.err


@pytest.mark.parametrize(
    ("words", "task"),
    [
        (("-i", "task=plain"), "plain"),
        (("-i", 'task:="quoted"'), "quoted"),
        (("-i", "task=@text.txt"), "from a file"),
        (("-i", "task:=@text.json"), "a value"),
        (("-",), "from stdin"),
        (("-i", "task=@-"), "from stdin"),
        (("-i", "task=a=b"), "a=b"),
    ],
)
def test_inputs(
    whorl: Whorl,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    task: str,
) -> None:
    (project / "text.txt").write_text("from a file")
    (project / "text.json").write_text('"a value"')
    stdin = io.TextIOWrapper(io.BytesIO(b"from stdin"))
    monkeypatch.setattr("sys.stdin", stdin)

    assert whorl("run", "polish.yaml", *words).code == 0

    assert whorl("show", "last", "--json").json["input"] == {"task": task}


@pytest.mark.slow
def test_an_input_may_hold_as_many_values_as_over_http(whorl: Whorl, project: Path) -> None:
    file = project / "list.yaml"
    file.write_text("whorl: 1\ninputs: {xs: list}\nsteps:\n  n: {value: '{{ xs | length }}'}\n")
    (project / "xs.json").write_text(json.dumps([[0]] * 49_000))
    assert whorl("run", "list.yaml", "-i", "xs:=@xs.json").code == 0
    (project / "xs.json").write_text(json.dumps([0] * 100_001))

    refused = whorl("run", "list.yaml", "-i", "xs:=@xs.json")

    assert (refused.code, "holds more than 100,000 values" in refused.err) == (2, True)
    assert "is not JSON" not in refused.err
    assert "needs quotes" not in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "needs the input 'task'"),
        (("-i", "tsak=x"), "did you mean 'task'?"),
        (("-i", "task"), "has no value"),
        (("-i", "task=x", "-i", "task=y"), "gives 'task' twice"),
        (("x", "-i", "task=y"), "given twice"),
        (("-i", "task:=nope"), "is not JSON"),
        (("-i", "task=@missing.txt"), "does not exist"),
        (("x", "--budget", "much"), "not an amount of dollars"),
        (("x", "--jsn"), "did you mean '--json'?"),
        (("x", "--json", "--events"), "exclude each other"),
    ],
)
def test_wrong_use_is_said_and_nothing_starts(
    whorl: Whorl, project: Path, words: tuple[str, ...], message: str
) -> None:
    done = whorl("run", "polish.yaml", *words)

    assert done.code == 2
    assert message in done.err
    assert "error[" in done.err
    assert ("error" in done.json) if "--json" in words else (done.out == "")
    assert not (project / ".whorl").exists()


def test_invalid_file_shows_all_diagnostics(whorl: Whorl, project: Path) -> None:
    (project / "bad.yaml").write_text(
        POLISH.replace("until:", "untill:").replace("at_most", "atmost")
    )

    done = whorl("run", "bad.yaml", "x", "--json")

    assert done.code == 2
    assert len(done.json["error"]["diagnostics"]) == 2
    assert "bad.yaml:8:" in done.err
    assert "untill:" in done.err
    assert "did you mean 'until'" in done.err
    assert "did you mean 'at_most'" in done.err


def test_missing_file(whorl: Whorl) -> None:
    done = whorl("run", "nowhere.yaml")

    assert done.code == 2
    assert "'nowhere.yaml' does not exist" in done.err


def test_command_without_leave_fails_before_anything_starts(whorl: Whorl, project: Path) -> None:
    done = whorl("run", "commanding.yaml", "--json")

    assert done.code == 1
    assert done.json["status"] == "failed"
    assert done.json["error"]["code"] == "R110"
    assert done.json["error"]["path"] == "touch"
    assert "`commands = true`" in done.json["error"]["message"]
    assert not (project / "ran.txt").exists()
    again = whorl("resume", "last")
    assert again.code == 2
    assert "nothing in this run can be tried again" in again.err


@pytest.mark.parametrize(("allowed", "code"), [("true", 0), ('["touch"]', 0), ('["ls"]', 1)])
def test_leave_for_commands(whorl: Whorl, project: Path, allowed: str, code: int) -> None:
    with (project / "whorl.toml").open("a") as config:
        config.write(f"\n[allow]\ncommands = {allowed}\n")

    assert whorl("run", "commanding.yaml").code == code

    assert (project / "ran.txt").exists() == (code == 0)


def test_missing_provider_is_said_before_the_run(whorl: Whorl, project: Path) -> None:
    (project / "whorl.toml").write_text("")
    named = POLISH.replace("inputs:", "model: openai/gpt-5-mini\ninputs:")
    (project / "polish.yaml").write_text(named)

    done = whorl("run", "polish.yaml", "x")

    assert done.code == 2
    assert "error[P110]" in done.err
    assert "OPENAI_API_KEY" in done.err
    assert not (project / ".whorl").exists()


def test_failed_run(whorl: Whorl) -> None:
    done = whorl("run", "failing.yaml")

    assert done.code == 1
    assert done.out == ""
    assert "✗ failed" in done.err
    assert "no such model" in done.err
    assert "next: whorl resume " in done.err


def test_dry_run_sends_and_stores_nothing(whorl: Whorl, project: Path) -> None:
    done = whorl("run", "polish.yaml", "x", "--dry-run", "--json")

    assert done.code == 0
    assert done.json["dry_run"] is True
    assert done.json["loops"][0]["iterations"] == 5
    assert done.json["outputs"]["text"] == "(invented answer of report)"
    assert "nothing is sent, nothing is stored" in done.err
    assert not (project / ".whorl").exists()


def test_dry_run_opens_gates_waits_in_no_time_and_lets_the_judge_say_yes_last(
    whorl: Whorl, project: Path
) -> None:
    (project / "long.yaml").write_text(
        """
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
    )

    result = whorl("run", "long.yaml", "--dry-run", "--json").json

    assert result["loops"][0]["stopped_by"] == "judge"
    assert result["loops"][0]["iterations"] == 3
    assert result["outputs"] == {"kind": "short", "ok": True}


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


@pytest.mark.parametrize("rows", [None, 3])
def test_dry_run_reads_files_that_are_there_and_invents_rows_of_others(
    whorl: Whorl, project: Path, rows: int | None
) -> None:
    (project / "batch.yaml").write_text(BATCH)
    if rows is not None:
        (project / "reviews.csv").write_text("id,text\n" + "1,Good\n" * rows)

    done = whorl("run", "batch.yaml", "--dry-run")
    told = whorl("run", "batch.yaml", "--dry-run", "--json").json

    # As of a run, reading and writing files is no call.
    assert (done.code, told["usage"]["calls"]) == (0, rows or 1), done.err
    assert told["outputs"] == {"file": "out/labels.csv", "count": rows or 1}
    made = "3 calls" if rows else "1 call"
    words = f"it would have made {made}; the number of calls depends on the inputs"
    assert words in done.err
    assert not (project / "out").exists()


def test_key_starts_one_run(whorl: Whorl) -> None:
    first = whorl("run", "polish.yaml", "x", "--id", "monday", "--json")
    second = whorl("run", "polish.yaml", "x", "--id", "monday", "--json")

    assert second.code == 0
    assert second.json == first.json
    assert "was started with the key 'monday' before" in second.err
    assert len(whorl("ls", "--json").json) == 1


def test_control_characters_of_a_model_do_not_reach_the_terminal(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = project / "whorl.toml"
    config.write_text(config.read_text().replace('"the report"', '"a\\u001b[2Jb\\nc"'))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    done = whorl("run", "polish.yaml", "x")

    assert "\x1b" not in done.out
    assert done.out.startswith("text:\na␛[2Jb\nc\n")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[defaults\n", "whorl.toml:1:"),
        (
            '[defaults]\nprovider = "canned"\nmodle = "m"\n',
            "whorl.toml:3: [defaults] has no 'modle'",
        ),
        ("[allow]\ncommands = 3\n", "whorl.toml:2: [allow] commands must be"),
    ],
)
def test_wrong_configuration_names_its_line(
    whorl: Whorl, project: Path, config: str, message: str
) -> None:
    (project / "whorl.toml").write_text(config)

    done = whorl("run", "polish.yaml", "x")

    assert done.code == 2
    assert "error[W901]" in done.err
    assert message in done.err


FILES = """
whorl: 1
name: pages
inputs: {pages: files, names: {type: list, default: []}}
steps:
  out: {value: "{{ pages + names }}"}
"""


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        (("-i", "pages=a.txt"), ["a.txt"]),
        (("-i", "pages=a.txt", "-i", "pages=b.txt"), ["a.txt", "b.txt"]),
        (("-i", 'pages:=["a.txt", "b.txt"]'), ["a.txt", "b.txt"]),
        (("a.txt",), ["a.txt"]),
        (("-i", "pages=a.txt", "-i", "names=x"), ["a.txt", "x"]),
        (("-i", "pages=a.txt", "-i", "names=x", "-i", "names=y"), ["a.txt", "x", "y"]),
        (("-i", "pages=a.txt", "-i", 'names=["x", "y"]'), ["a.txt", "x", "y"]),
    ],
)
def test_files_are_given_one_by_one_or_as_a_list(
    whorl: Whorl, project: Path, words: tuple[str, ...], pages: list[str]
) -> None:
    (project / "pages.yaml").write_text(FILES)

    assert whorl("run", "pages.yaml", *words, "--json").json["outputs"] == {"out": pages}


def test_the_only_file_that_a_workflow_needs_is_its_text(whorl: Whorl, project: Path) -> None:
    file = project / "letter.yaml"
    file.write_text(FILES.replace("pages: files", "pages: file").replace(" + names", ""))
    alone = whorl("run", "letter.yaml", "a.txt", "--json")
    file.write_text(FILES.replace("pages: files", "pages: file, other: file"))
    of_two = whorl("run", "letter.yaml", "a.txt")

    assert alone.json["outputs"] == {"out": "a.txt"}
    assert "takes no text; its inputs: -i pages=..., -i other=..." in of_two.err


def test_what_is_no_list_is_given_once(whorl: Whorl) -> None:
    refused = whorl("run", "polish.yaml", "-i", "task=a", "-i", "task=b")

    assert "-i gives 'task' twice" in refused.err
