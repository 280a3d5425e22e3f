"""Steps that compute, branch, repeat or did not run, as `whorl show` tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

_FILE = """
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


@pytest.fixture
def run(whorl: Whorl, project: Path) -> str:
    (project / "sums.yaml").write_text(_FILE)
    return str(whorl("run", "sums.yaml", "--json").json["run"])


def test_the_overview_has_every_step(whorl: Whorl, run: str) -> None:
    text = whorl("show", run).out

    assert "✓ list  compute  [ 3, 5 ]" in text
    assert "✓ all  foreach  2 items" in text
    assert "✓ pick/small  compute  3" in text
    assert "- pick/large  compute  skipped: case 'else' was taken" in text
    assert "✗ broken  compute" in text
    assert (
        "- end  compute  skipped: it runs only after 'broken' has succeeded, but it has failed"
        in text
    )


def test_an_item_has_its_steps(whorl: Whorl, run: str) -> None:
    text = whorl("show", f"{run}/all[1]").out

    assert "✓ all[1]  item" in text
    assert '"item": 3' in text
    assert "  ✓ all[1]/square  compute  9" in text
    assert "  - all[1]/odd  compute  skipped: its condition is not true: item > 3" in text
    assert "  ✓ all[2]  item" in whorl("show", f"{run}/all").out


def test_what_failed_has_what_it_read_and_its_error(whorl: Whorl, run: str) -> None:
    text = whorl("show", f"{run}/broken").out

    assert '"list[0]": 3' in text
    assert "error[R104]" in text


def test_all_records_as_json(whorl: Whorl, run: str) -> None:
    outer, deep = (whorl("show", run, "--json", *more).json for more in ((), ("--deep",)))
    inside = whorl("show", f"{run}/all", "--json", "--deep").json

    assert [r["address"] for r in outer["records"] if "[" in r["address"]] == []
    assert outer["workflow"] == "sums"
    addresses = [record["address"] for record in deep["records"]]
    assert addresses[:5] == ["list", "all", "all[1]", "all[1]/square", "all[1]/odd"]
    assert [r["address"] for r in inside["records"]] == [a for a in addresses if a[:3] == "all"]
    history = whorl("show", run, "--as", "azure").json
    assert history["properties"]["actions"]["square"]["repetitionCount"] == 2
