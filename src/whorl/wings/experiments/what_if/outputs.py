"""What a run would have given, had its loop returned another iteration.

Where the outputs follow from the loop alone they are computed; where steps stand behind it or
beside it, the workflow is played against the recorded replies. A step that would be asked something
else than was recorded has no reply, so then nobody knows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.run import check_inputs
from whorl.interpreter.evaluation import value_of
from whorl.ir import Loop
from whorl.ir.expressions import Names, expressions_in, outer_values
from whorl.ir.walk import walk
from whorl.language import LanguageError, MappingScope
from whorl.services.inspecting.results import result_of
from whorl.services.replay import cassette_from_run
from whorl.wings.experiments.graders import FAILED
from whorl.wings.experiments.what_if.query import played
from whorl.wings.experiments.what_if.rules import Rule

if TYPE_CHECKING:
    from whorl.ir import Value, Workflow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.replay import Cassette
    from whorl.wings.experiments.trials import Outcome


class IterationOutputs:
    """The outputs of one recorded run by the iteration that its loop would have returned."""

    def __init__(
        self, store: SqliteStore, workflow: Workflow, loop: Loop, outcome: Outcome
    ) -> None:
        self._store, self._workflow, self._loop, self._outcome = store, workflow, loop, outcome
        self._follow = _follow_from(workflow, loop)
        self._can_play = not depends_on_end(workflow, loop)

    def of(self, number: int, results: dict[str, Any]) -> Any:
        """The outputs; None: nobody knows them; FAILED: the run would have failed."""
        if self._follow:
            return self._computed(results)
        if not self._can_play:
            return None
        rule = Rule(None, number, "last", (), self._loop.facts)
        # In a thread of its own, since who asks may be in an event loop, and a replay has one, too.
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(played, self._workflow, self._loop, rule, self._cassette)
            found = work.result()
        if found.misses or found.changes:
            return None
        if found.result["status"] == "failed":
            return FAILED
        outputs: Any = found.result["outputs"]
        return dict(outputs) if found.result["status"] == "succeeded" else None

    @cached_property
    def _cassette(self) -> Cassette:
        assert self._outcome.run is not None
        result = result_of(self._store, self._outcome.run)
        return cassette_from_run(self._store, self._outcome.run, result)

    def _computed(self, results: dict[str, Any]) -> dict[str, Any]:
        names = check_inputs(self._workflow, self._outcome.trial.inputs)
        scope = MappingScope({**names, self._loop.name: results | {"loop": {}}})
        outputs: dict[str, Any] = {}
        for name, value in self._workflow.outputs:
            with suppress(LanguageError):
                outputs[name] = value_of(value, scope)
        return outputs


def _follow_from(workflow: Workflow, loop: Loop) -> bool:
    """Whether the outputs follow from the result of the loop alone, without any step behind it."""
    if not any(node is loop for node in workflow.body.nodes):
        return False
    read = Names().in_values([value for _, value in workflow.outputs])
    known = {loop.name, *(port.name for port in workflow.inputs)}
    followers = [n for n in workflow.body.nodes if any(a.node == loop.name for a in n.after)]
    return read <= known and not followers


def depends_on_end(workflow: Workflow, loop: Loop) -> bool:
    """Whether more than the iteration that is returned decides what comes behind the loop.

    Such as how many there were, or a variable; or the loop is inside another one.
    """
    if _follow_from(workflow, loop):
        return False
    places = {id(node): path for path, node in walk(workflow.body)}
    own = places.get(id(loop))
    if own is None or workflow.variables:
        return True
    nodes = list(walk(workflow.body))
    if any(isinstance(n, Loop) and own.startswith(f"{path}/") for path, n in nodes):
        return True
    outside = [node for path, node in nodes if path != own and not path.startswith(f"{own}/")]
    values: list[Value | None] = [value for _, value in workflow.outputs]
    values += [value for node in outside for value in outer_values(node)]
    names = Names()
    with suppress(LanguageError):
        uses = [use for v in values for e in expressions_in(v) for use in names.uses(e)]
        of_loop = [use.path for use in uses if use.name == loop.name]
        return any(not path or path[0] == "loop" for path in of_loop)
    return True
