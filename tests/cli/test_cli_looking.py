"""ls, status, show, why, diff, watch: what a stored run says about itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


@pytest.fixture
def run(whorl: Whorl) -> str:
    """A run that ended well."""
    return str(whorl("run", "polish.yaml", "a haiku", "--json").json["run"])


def test_ls_of_nothing(whorl: Whorl) -> None:
    done = whorl("ls")

    assert (done.code, done.out) == (0, "")
    assert "no runs yet" in done.err
    assert whorl("ls", "--json").json == []


def test_ls(whorl: Whorl, run: str) -> None:
    whorl("run", "gated.yaml")

    lines = whorl("ls").out.splitlines()

    heads = "STATUS WORKFLOW RUN LOOP SCORE COST EXIT AGE"
    assert lines[0].split() == heads.split()
    assert "waiting" in lines[1]
    assert "gated" in lines[1]
    assert run in lines[2]
    assert "polish 3/5" in lines[2]
    assert "0.90" in lines[2]
    assert "condition_met" in lines[2]
    assert len(whorl("ls", "--status", "waiting", "--json").json) == 1
    assert len(whorl("ls", "--limit", "1", "--json").json) == 1
    assert len(whorl("ls", "--workflow", "polish", "--json").json) == 1


def test_status(whorl: Whorl, run: str) -> None:
    text = whorl("status", run).out

    assert "status:     ✓ succeeded" in text
    assert "iteration:  3/5 of polish  condition_met (expression)" in text
    assert "until:      review.approved or score ≥ 0.95" in text
    assert "last:       iteration 3, score 0.90: review.approved is true" in text
    assert 'result:     review: { "approved": true' in text
    document = whorl("status", run, "--json").json
    assert document["iteration"] == 3
    assert document["waiting_for"] == []


def test_status_of_a_waiting_run(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")

    assert "waits for:  check asks: Publish it?" in whorl("status").out
    assert whorl("status", "--json").json["waiting_for"][0]["show"] == "draft one"


def test_show_overview(whorl: Whorl, run: str) -> None:
    text = whorl("show", run).out

    assert "task = a haiku" in text
    assert "↻ polish  3/5  condition_met" in text
    assert "0.63  +.22" in text
    assert "0.90★" in text
    assert "✓ report  canned/m" in text


def test_show_a_task_with_prompt_and_answer(whorl: Whorl, run: str) -> None:
    text = whorl("show", f"{run}/polish[2]/write").out

    assert "Write a haiku after draft one" in text
    assert "    draft two\n    with two lines" in text
    entries = whorl("show", f"{run}/polish[2]/write", "--json").json["entries"]
    assert [entry["kind"] for entry in entries] == ["task.started", "task.finished"]


def test_show_an_iteration_a_loop_and_a_computed_value(whorl: Whorl, run: str) -> None:
    iteration = whorl("show", "last/polish[1]").out
    assert "✓ polish[1]/write" in iteration
    assert "score 0.41" in iteration
    assert "draft one" in iteration
    assert "0.63  +.22" in whorl("show", "last/polish").out
    assert whorl("show", "last/polish[1]/length").out.splitlines()[-1].strip() == "9"


def test_show_nowhere(whorl: Whorl, run: str) -> None:
    done = whorl("show", "last/polsh[1]/write")

    assert done.code == 2
    assert "did you mean 'polish[1]/write'?" in done.err


def test_why(whorl: Whorl, run: str) -> None:
    text = whorl("why", "last").out

    assert "3 iterations of at most 5; it ended because an expression became true" in text
    assert "1  0.41   not met  review.approved is false; score 0.41 < 0.95" in text
    assert "3  0.90★  met" in text
    facts = whorl("why", "last", "--json").json["loops"][0]["iterations"][0]["facts"]
    assert facts[1] == {"leaf": 2, "by": "score", "met": False, "score": 0.41, "at_least": 0.95}


BEST = """
whorl: 1
name: best
steps:
  polish:
    repeat:
      until: [review.approved, {score: {from: "{{ review.score }}"}}]
      at_most: 3
      return: RETURN
      steps:
        review: {ask: "Grade", returns: {approved: boolean, score: number}}
"""


@pytest.mark.parametrize(
    ("returns", "replies", "words"),
    [
        (
            "best",
            [(0, 0.9), (0, 0.4), (1, 0.6)],
            "iteration 3, the only one that was approved; approved counts more than the better "
            "score of iteration 1",
        ),
        ("best", [(0, 0.4), (1, 0.6)], "iteration 2, the only one that was approved"),
        (
            "best",
            [(0, 0.4), (0, 0.9), (0, 0.6)],
            "iteration 2, the best one: no score is better than 0.90",
        ),
        ("last", [(0, 0.4), (0, 0.9), (0, 0.6)], "iteration 3, the last one that finished"),
    ],
)
def test_why_tells_why_an_iteration_was_returned(
    whorl: Whorl, project: Path, returns: str, replies: list[tuple[int, float]], words: str
) -> None:
    (project / "best.yaml").write_text(BEST.replace("RETURN", returns))
    answers = [
        f"{{json = {{approved = {str(bool(approved)).lower()}, score = {score}}}}}"
        for approved, score in replies
    ]
    with (project / "whorl.toml").open("a") as config:
        config.write('[[providers.canned.replies]]\nmatch = "Grade"\nby = "iteration"\n')
        config.write(f"replies = [{', '.join(answers)}]\n")
    whorl("run", "best.yaml")
    why = whorl("why", "last").out.splitlines()

    assert f"  returned: {words}" in why
    assert "  ★ the best one: approved ones come first, then the score counts" in why
    assert "★ is the best one" in whorl("show", "last").out


def test_why_shows_what_was_warned_of(whorl: Whorl, project: Path) -> None:
    (project / "cut.yaml").write_text('whorl: 1\nsteps: {a: {ask: "Cut", max_tokens: 5}}\n')
    with (project / "whorl.toml").open("a") as config:
        config.write('[[providers.canned.replies]]\nmatch = "Cut"\n')
        config.write('replies = [{text = "half of it", finish = "length"}]\n')

    done = whorl("run", "cut.yaml", "--json")

    assert [one["code"] for one in done.json["warnings"]] == ["R120"]
    assert "warning[R120] (a): an answer was cut" in whorl("why", "last").out
    assert whorl("why", "last", "--json").json["warnings"] == done.json["warnings"]
    told = whorl("run", "cut.yaml").err
    assert "warning: an answer was cut at max_tokens, which is 5" in told


def test_why_of_a_failure_and_of_a_limit(whorl: Whorl) -> None:
    whorl("run", "failing.yaml")
    assert "error[" in whorl("why", "last").out
    whorl("run", "polish.yaml", "x", "--max-iterations", "1")
    assert "it reached its limit of iterations: max_iterations" in whorl("why", "last").out


def test_why_of_a_loop_that_was_continued_and_is_not_at_its_limit(
    whorl: Whorl, project: Path
) -> None:
    steps = "steps: {l: {repeat: {until: iteration == 1, at_most: 5, steps: {a: {value: 1}}}}}"
    (project / "again.yaml").write_text(f"whorl: 1\n{steps}\n")
    whorl("run", "again.yaml")
    whorl("continue", "last", "--iterations", "2")
    words = (
        "3 iterations of at most 5; it ended because it made the iterations that it was continued"
    )

    assert words in whorl("why", "last").out


def test_why_of_an_iteration_that_nothing_judged(whorl: Whorl, project: Path) -> None:
    steps = "steps: {l: {repeat: {at_most: 1, steps: {a: {value: 1}}}}}"
    (project / "plain.yaml").write_text(f"whorl: 1\n{steps}\n")
    whorl("run", "plain.yaml")

    assert "no verdict" in whorl("why", "last").out


def test_a_judge_tells_why(whorl: Whorl, project: Path) -> None:
    judge = '{judge: {question: "It is done", evidence: true}}'
    steps = f"steps: {{l: {{repeat: {{until: {judge}, steps: {{w: {{ask: Judged}}}}}}}}}}"
    (project / "judged.yaml").write_text(f"whorl: 1\n{steps}\n")
    with (project / "whorl.toml").open("a") as config:
        config.write('[[providers.canned.replies]]\nmatch = "Evaluate"\n')
        config.write('replies = ["NO. Two is open.\\nEVIDENCE: two is open", "NO\\nEVIDENCE: no"')
        config.write(', "YES"]\n[[providers.canned.replies]]\nmatch = "Judged"\n')
        config.write('replies = ["one is done, two is open"]\n')

    lines = whorl("run", "judged.yaml", "--verbose").err

    assert "judge: It is done -> NO\n" in lines
    assert "· judge: NO. Two is open.\n" in lines
    assert "· judge: NO. Two is open." in whorl("show", "last").out
    why = whorl("why", "last").out
    assert "not met  judge: NO\n" in why
    assert (
        """\
  the judge's reasons:
    1  NO. Two is open.
       "two is open"
    2  "no"  (not found in the text)
"""
        in why
    )


def test_diff(whorl: Whorl, run: str) -> None:
    text = whorl("diff", "last", "1", "2").out

    assert "iteration 1 → 2  score 0.41 → 0.63 +.22" in text
    assert "-draft one\n+draft two\n+with two lines" in text
    only = whorl("diff", "last", "1", "2", "--node", "write", "--json").json
    assert list(only["diff"]) == ["write"]
    assert only["iterations"][1]["results"]["review"]["score"] == 0.63


def test_diff_of_two_runs(whorl: Whorl, run: str) -> None:
    other = str(whorl("run", "polish.yaml", "a haiku", "--json").json["run"])
    text = whorl("diff", run, "1", "2", "--with", other).out

    assert f"iteration 1 → 2 of {other}  score 0.41 → 0.63 +.22" in text
    assert "-draft one\n+draft two\n+with two lines" in text
    missing = whorl("diff", run, "1", "1", "--with", "nobody")
    assert missing.code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("1", "7"), "no finished iteration 7; it has 3"),
        (("1", "2", "--node", "wirte"), "did you mean 'write'?"),
        (("1", "2", "--at", "polsh"), "did you mean 'polish'?"),
    ],
)
def test_diff_refuses(whorl: Whorl, run: str, words: tuple[str, ...], message: str) -> None:
    done = whorl("diff", "last", *words)

    assert done.code == 2
    assert message in done.err


def test_watch_of_a_run_that_ended_prints_its_result(whorl: Whorl, run: str) -> None:
    done = whorl("watch", "last")

    assert (done.code, done.out) == (0, "text:\nthe report\n\ndraft:\ndraft three\n")
    events = [json.loads(text) for text in whorl("watch", "last", "--events").out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "run.started"


def test_nested_loops_are_named_by_their_outer_iteration(whorl: Whorl, project: Path) -> None:
    (project / "nested.yaml").write_text(
        """
whorl: 1
name: nested
steps:
  outer:
    repeat:
      at_most: 2
      steps:
        inner:
          repeat:
            at_most: 2
            steps: {w: {ask: "Write it"}}
"""
    )
    done = whorl("run", "nested.yaml")

    assert "outer[1]/inner  2/2" in done.err
    assert "outer  2/2" in done.err
    assert "outer[2]/inner  2 iterations of at most 2" in whorl("why", "last").out
    assert "say which loop" not in whorl("diff", "last", "1", "2").err
    assert whorl("diff", "last", "1", "2", "--at", "outer[2]/inner").code == 0


def test_control_characters_are_shown_as_pictures(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "a\x1b[31mb")

    done = whorl("show", "last")

    assert "\x1b" not in done.out
    assert "a␛[31mb" in done.out


@pytest.mark.parametrize("command", ["ls", "why", "show"])
def test_tables_fit_the_terminal(
    whorl: Whorl, run: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    whorl("run", "polish.yaml", "y", "--id", "a key that is rather long", "--budget", "3")
    monkeypatch.setenv("COLUMNS", "76")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    lines = whorl(command).out.splitlines()

    rows = lines if command == "ls" else [text for text in lines if text[:3] in ("  1", "  2")]
    assert len(rows) >= 2
    assert max(len(text) for text in rows) <= 76
    if command == "ls":
        assert run in lines[2]


def test_ls_has_the_names_of_other_documents(whorl: Whorl, run: str) -> None:
    row = whorl("ls", "--json").json[0]

    assert row["run"] == run
    assert row["workflow"] == "polish"
    assert row["parent"] is None
    assert row["key"] is None


def test_doctor_says_that_its_configuration_is_not_there(whorl: Whorl) -> None:
    done = whorl("--config", "nope.toml", "doctor")

    assert done.code == 1
    line = next(text for text in done.out.splitlines() if "configuration" in text)
    assert line.startswith("✗")
    assert "nope.toml" in line
    assert "✓  whorl" in done.out


def test_an_iteration_shows_what_it_worked_without_the_time_until_it_was_resumed(
    whorl: Whorl, project: Path
) -> None:
    (project / "loop.yaml").write_text(
        "whorl: 1\nname: loop\nsteps:\n  l:\n    repeat:\n      until: iteration >= 1\n"
        "      at_most: 2\n      steps: {w: {ask: 'Fail {{ iteration }}'}}\n"
    )
    done = [whorl(*words) for words in (("run", "loop.yaml"), *[("resume", "last")] * 2)][-1]

    events = [json.loads(line) for line in whorl("watch", "last", "--events").out.splitlines()]
    ends = [each for each in events if each["kind"] == "iteration.finished"]
    went_on = [each["at"] for each in events if each["kind"] == "run.resumed"]
    assert (len(ends), len(went_on)) == (3, 2)
    stood = sum(on - end["at"] for on, end in zip(went_on, ends, strict=False))
    notes = whorl("why", "last", "--json").json["loops"][0]["iterations"]
    assert [note["seconds"] for note in notes] == [round(ends[-1]["body"]["seconds"] - stood, 3)]
    assert f"  {notes[0]['seconds']:.1f}s " in whorl("show", "last").out
    assert f"  {notes[0]['seconds']:.1f}s  " in done.err


def test_why_says_in_json_why_an_iteration_was_returned(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")
    [met] = whorl("why", "last", "--json").json["loops"]
    whorl("accept", "last", "--iteration", "1")
    [chosen] = whorl("why", "last", "--json").json["loops"]

    assert (met["returned_iteration"], met["why"]) == (3, "an expression became true")
    assert met["returned_because"] == "the last one that finished"
    assert (chosen["returned_iteration"], chosen["returned_because"]) == (
        1,
        "which a person accepted",
    )
