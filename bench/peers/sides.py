"""The loops of the comparison by hand, on Whorl and on LangGraph: what `python -m bench` has."""

from __future__ import annotations

from pathlib import Path


class Hand:
    """A loop that is written by hand, with a journal of its own."""

    PACKAGE = "apsw"
    SETTINGS = "SQLite, WAL, synchronous=FULL: a commit per step, or for all that end together"

    @staticmethod
    def one_loop(folder: Path, iterations: int) -> None:
        """Two rows for an iteration."""
        from bench import bare_side

        bare_side.one_loop(folder, iterations)

    @staticmethod
    def growing_loop(folder: Path, iterations: int, text: str) -> None:
        """The text is a row."""
        from bench import bare_side

        bare_side.one_loop(folder, iterations, nodes=1, text=text)

    @staticmethod
    def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
        """A row for each iteration."""
        from bench import bare_side

        bare_side.many_loops(folder, loops, iterations, seconds)


class Whorl:
    """A loop in Whorl's own form."""

    PACKAGE = "whorl"
    SETTINGS = (
        "its defaults: SQLite, synchronous=FULL; tasks without effects wait 0.1 s for company"
    )

    @staticmethod
    def one_loop(folder: Path, iterations: int) -> None:
        """Two tasks."""
        from bench import whorl_side

        whorl_side.one_loop(folder, iterations)

    @staticmethod
    def growing_loop(folder: Path, iterations: int, text: str) -> None:
        """A task that gives the text."""
        from bench import whorl_side

        whorl_side.one_loop(folder, iterations, nodes=1, text=text)

    @staticmethod
    def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
        """A task that waits."""
        from bench import whorl_side

        whorl_side.many_loops(folder, loops, iterations, seconds)


class WhorlPaid(Whorl):
    """The same with tasks that have effects: none is done twice, no reply is lost."""

    SETTINGS = "its defaults; tasks with effects: an intent before each, its reply at once"

    @staticmethod
    def one_loop(folder: Path, iterations: int) -> None:
        """Two tasks."""
        from bench import whorl_side

        whorl_side.one_loop(folder, iterations, effect="outside")

    @staticmethod
    def growing_loop(folder: Path, iterations: int, text: str) -> None:
        """A task that gives the text."""
        from bench import whorl_side

        whorl_side.one_loop(folder, iterations, nodes=1, text=text, effect="outside")

    @staticmethod
    def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
        """A task that waits."""
        from bench import whorl_side

        whorl_side.many_loops(folder, loops, iterations, seconds, effect="outside")


class LangGraph:
    """A graph with an edge back."""

    PACKAGE = "langgraph"
    SETTINGS = 'SQLite saver, durability="sync": every step is written before the next'

    @staticmethod
    def one_loop(folder: Path, iterations: int) -> None:
        """Two nodes."""
        from bench import langgraph_side

        langgraph_side.one_loop(folder, iterations)

    @staticmethod
    def growing_loop(folder: Path, iterations: int, text: str) -> None:
        """A list in the state, to which a node adds the text."""
        from bench import langgraph_side

        langgraph_side.one_loop(folder, iterations, text=text, grows=True)

    @staticmethod
    def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
        """A node that waits."""
        from bench import langgraph_side

        langgraph_side.many_loops(folder, loops, iterations, seconds)
