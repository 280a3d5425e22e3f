"""Libraries are opened by name, ours as everybody's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from waiting import PATIENCE_S
from whorl.language import Expression, LanguageError, MappingScope, evaluate, functions
from whorl.language.libraries import libraries, open_library

NOTHING = MappingScope({})


@pytest.mark.parametrize("name", libraries().names())
def test_every_library_opens_and_lists_its_functions(name: str) -> None:
    library = open_library(name)
    listed = {entry.name for entry in functions(name)}

    assert library.functions
    assert {entry.name for entry in library.functions if entry.name[0] != "$"} <= listed
    assert ("upper" in listed) is not library.stands_alone


def test_a_library_without_a_syntax_is_refused() -> None:
    with pytest.raises(LanguageError, match="there is no syntax 'orka'"):
        evaluate(Expression("orka", "a"), NOTHING)


def test_what_is_no_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(libraries()._loaded, "odd", 7)
    monkeypatch.setitem(libraries().built_in, "odd", "odd:LIBRARY")

    with pytest.raises(LanguageError, match=r"plugin 'odd' of .* is int, not a Library"):
        open_library("odd")


def test_a_library_that_fails_to_load_is_named_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(libraries().built_in, "lost", "whorl_nowhere:LIBRARY")

    with pytest.raises(LanguageError, match=r"'lost'.*whorl_nowhere:LIBRARY.*No module named"):
        evaluate(Expression("jinja", "1", "lost"), NOTHING)


def test_expressions_of_the_core_load_no_dialect() -> None:
    program = (
        "import sys; from whorl.language import *\n"
        "evaluate(Expression('template', '{{ [1, 2] | sum }} {{ x.upper() }}'), "
        "MappingScope({'x': 'a'}))\n"
        "print(*(name for name in sys.modules if name.startswith('whorl.dialects')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )

    assert done.stdout.split() == []
