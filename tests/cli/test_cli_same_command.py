"""The command that is advised to be pasted has all that this one was given."""

from __future__ import annotations

import click
import pytest

from whorl.interfaces.cli.carrying import same_command


@click.command()
@click.argument("file")
@click.option("--rule", multiple=True)
@click.option("--pair", nargs=2, multiple=True)
@click.option("--range", "span", nargs=2)
@click.option("--quick", is_flag=True)
def _given(**_: object) -> None:
    click.echo("\n".join(same_command()))


@pytest.mark.parametrize(
    "words",
    [
        ["FILE", "--rule", "a", "--rule", "b"],
        ["FILE", "--pair", "a", "1", "--pair", "b", "2"],
        ["FILE", "--range", "1", "2", "--quick"],
    ],
)
def test_options_that_are_given_several_times_are_written_so(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _given.main(words, prog_name="given", standalone_mode=False)

    found = capsys.readouterr().out.split()

    assert sorted(found) == sorted(words)
    assert [word for word in found if word != "FILE"] == words[1:]
