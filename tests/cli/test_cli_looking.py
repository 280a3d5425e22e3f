"""show, why and tables: what a stored run says about itself, and about its loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


@pytest.fixture
def run(whorl: Whorl) -> str:
    """A run that ended well."""
    return str(whorl("run polish.yaml 'a haiku' --json").json["run"])


def test_show(whorl: Whorl, run: str) -> None:
    """The whole, a loop, an iteration, and in it a task and a computed value."""
    shown = whorl("show", run).prints("task = a haiku", "↻ polish  3/5  condition_met")
    shown.prints("0.63  +.22", "0.90★", "✓ report  canned/m")
    task = whorl(f"show {run}/polish[2]/write").prints("Write a haiku after draft one")
    task.prints("    draft two\n    with two lines")
    entries = whorl(f"show {run}/polish[2]/write --json").json["entries"]
    assert [entry["kind"] for entry in entries] == ["task.started", "task.finished"]
    whorl("show last/polish[1]").prints("✓ polish[1]/write", "score 0.41", "draft one")
    whorl("show last/polish").prints("0.63  +.22")
    assert whorl("show last/polish[1]/length").out.splitlines()[-1].strip() == "9"


def test_why(whorl: Whorl, run: str) -> None:
    ended = "polish stopped after 3 of 5 iterations: review.approved is true\n"
    whorl("why last").prints(
        ended,
        "exit reason: condition_met (expression)",
        "1  0.41   not met  review.approved is false; score 0.41 < 0.95",
        "3  0.90★  met",
    )
    [met] = whorl("why last --json").json["loops"]
    facts = met["iterations"][0]["facts"]
    assert facts[1] == {"leaf": 2, "by": "score", "met": False, "score": 0.41, "at_least": 0.95}
    assert (met["returned_iteration"], met["why"]) == (3, "an expression became true")
    assert met["returned_because"] == "the last one that finished"
    whorl("accept last --iteration 1")
    [chosen] = whorl("why last --json").json["loops"]
    assert chosen["returned_iteration"] == 1
    assert chosen["returned_because"] == "which a person accepted"


BEST = """
whorl: 1
name: best
steps:
  polish:
    repeat:
      until: [review.approved, {score: {from: "{{ review.score }}"}}]
      at_most: 2
      return: RETURN
      steps:
        review: {ask: "Grade", returns: {approved: boolean, score: number}}
"""


@pytest.mark.parametrize(
    ("returns", "replies", "words"),
    [
        ("best", [(0, 0.9), (1, 0.6)], "iteration 2, the best one that was approved"),
        ("best", [(0, 0.4), (0, 0.9)], "iteration 2, the best one: no score is better than 0.90"),
        ("last", [(0, 0.9), (0, 0.6)], "iteration 2, the last one that finished"),
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
    whorl("run best.yaml")
    why = whorl("why last").out.splitlines()

    assert f"  returned: {words}" in why
    assert "  ★ the best one: approved ones come first, then the score counts" in why
    whorl("show last").prints("★ is the best one")


def test_why_of_a_failure_a_limit_and_of_what_nothing_judged(whorl: Whorl, project: Path) -> None:
    whorl("run failing.yaml")
    whorl("why last").prints("error[")
    whorl("run polish.yaml x --max-iterations 1")
    whorl("why last").prints(
        "polish stopped after 1 of 1 iteration: it reached its limit of iterations\n",
        "exit reason: max_iterations",
    )
    body = "steps: {l: {repeat: {RULE, steps: {a: {value: 1}}}}}"
    (project / "l.yaml").write_text(f"whorl: 1\n{body.replace('RULE', 'at_most: 1')}\n")
    whorl("run l.yaml")
    whorl("why last").prints("no verdict")
    rule = "until: iteration == 1, at_most: 5"
    (project / "l.yaml").write_text(f"whorl: 1\n{body.replace('RULE', rule)}\n")
    whorl("run l.yaml")
    whorl("continue last --iterations 2")
    words = "l stopped after 3 of 5 iterations: it made the iterations that were added"
    whorl("why last").prints(words)


def test_a_judge_tells_why(whorl: Whorl, project: Path) -> None:
    judge = '{judge: {question: "It is done", evidence: true}}'
    steps = f"steps: {{l: {{repeat: {{until: {judge}, steps: {{w: {{ask: Judged}}}}}}}}}}"
    (project / "judged.yaml").write_text(f"whorl: 1\n{steps}\n")
    with (project / "whorl.toml").open("a") as config:
        config.write('[[providers.canned.replies]]\nmatch = "Evaluate"\n')
        config.write('replies = ["NO. Two is open.\\nEVIDENCE: two is open", "NO\\nEVIDENCE: no"')
        config.write(', "YES"]\n[[providers.canned.replies]]\nmatch = "Judged"\n')
        config.write('replies = ["one is done, two is open"]\n')

    lines = whorl("run judged.yaml --verbose")
    lines.says("judge: It is done -> NO\n", "· judge: NO. Two is open.\n")
    whorl("show last").prints("· judge: NO. Two is open.")
    reasons = (
        "  the judge's reasons:\n",
        "    1  NO. Two is open.\n",
        '       "two is open"\n',
        '    2  "no"  (not found in the text)\n',
    )
    whorl("why last").prints("not met  judge: NO\n", "".join(reasons))


def test_tables_fit_the_terminal(whorl: Whorl, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whorl("run polish.yaml y --key 'a key that is rather long' --budget 3")
    monkeypatch.setenv("COLUMNS", "76")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for command in ("ls", "why", "show"):
        lines = whorl(command).out.splitlines()
        rows = lines if command == "ls" else [text for text in lines if text[:3] in ("  1", "  2")]
        assert len(rows) >= 2
        assert max(len(text) for text in rows) <= 76
    assert run in whorl("ls").out.splitlines()[2]


SUMS = """
whorl: 1
name: sums
steps:
  list: {value: [3, 5]}
  all:
    each: "{{ list }}"
    steps:
      square: {value: "{{ item * item }}"}
      odd: {if: item > 3, value: more}
  pick:
    if: all | length > 5
    then: {large: {value: x}}
    else: {small: {value: "{{ list[0] }}"}}
  broken: {value: "{{ list[0] / 0 }}"}
  end: {value: "{{ broken }}"}
"""


def test_every_step_is_shown(whorl: Whorl, project: Path) -> None:
    """Those that compute, branch, repeat or did not run, too."""
    (project / "sums.yaml").write_text(SUMS)
    run = whorl("run sums.yaml --json").json["run"]

    whorl("show", run).prints(
        "✓ list  compute  [ 3, 5 ]",
        "✓ all  foreach  2 items",
        "✓ pick/small  compute  3",
        "- pick/large  compute  skipped: case 'else' was taken",
        "✗ broken  compute",
        "- end  compute  skipped: it runs only if 'broken' ends as succeeded, "
        "and it ended as failed",
    )
    whorl(f"show {run}/all[1]").prints(
        "✓ all[1]  item",
        '"item": 3',
        "  ✓ all[1]/square  compute  9",
        "  - all[1]/odd  compute  skipped: its condition is not true: item > 3",
    )
    whorl(f"show {run}/all").prints("  ✓ all[2]  item")
    whorl(f"show {run}/broken").prints('"list[0]": 3', "error[R104]")

    outer, deep = (whorl(f"show {run} --json {more}").json for more in ("", "--deep"))
    inside = whorl(f"show {run}/all --json --deep").json
    assert [r["address"] for r in outer["records"] if "[" in r["address"]] == []
    assert outer["workflow"] == "sums"
    addresses = [record["address"] for record in deep["records"]]
    assert addresses[:5] == ["list", "all", "all[1]", "all[1]/square", "all[1]/odd"]
    assert [r["address"] for r in inside["records"]] == [a for a in addresses if a[:3] == "all"]


ALL = """
whorl: 1
name: all
inputs: {items: list}
steps:
  all:
    each: "{{ items }}"
    at_once: 4
    steps:
      polish:
        repeat:
          until: [item > 10, {score: {from: "{{ review.score }}", at_least: 0.9}}]
          at_most: 2
          steps:
            write: {ask: "Write {{ item }}"}
            review: {ask: "Review {{ write }}", returns: {approved: boolean, score: number}}
outputs: {n: "{{ all | length }}"}
"""


def test_a_loop_in_a_list_is_found_by_its_address(whorl: Whorl, project: Path) -> None:
    (project / "all.yaml").write_text(ALL)
    whorl("run all.yaml -i items:=[2,3,11]").ends(0)
    place = "all[2]/polish"
    text = whorl("show").prints("score 0.63 < 0.90").out
    for number, end in enumerate(("2/2  max_iterations", "2/2  max_iter", "1/2  condition_met"), 1):
        assert f" all[{number}]/polish  {end}" in text

    told = whorl(f"why last --at {place}")
    told.prints(f"{place} stopped after 2 of 2 iterations: ")
    assert "all[3]/polish" not in told.out
    [loop] = whorl(f"why last --at {place} --json").json["loops"]
    assert (loop["path"], len(loop["iterations"])) == (place, 2)
    assert whorl(f"runs cost last --at {place} --json").json["total"]["calls"] == 4
    assert whorl(f"runs cost last --at {place}[1] --json").json["total"]["calls"] == 2
    whorl(f"diff last 1 2 --at {place}").prints("score 0.41 -> 0.63", "polish 1 -> 2")
    for wrong in ("why last --at all[99]/polish", "runs cost last --at all[99]/polish"):
        whorl(wrong).ends(2, "error[W902]")
    whorl("runs cost last --at elsewhere").ends(2, "error[W902]")

    row = whorl("ls --json").json[0]
    assert row["loop"].startswith("all[")
    assert row["iterations_max"] == 2
