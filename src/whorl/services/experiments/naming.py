"""What people name of an experiment: variants, loops, judges, graders; wrong ones cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError, did_you_mean
from whorl.ir import Judge
from whorl.ir.expressions import conditions_in
from whorl.services.experiments.variants import find_loop, no_variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import Loop, Workflow
    from whorl.services.experiments.document import Experiment
    from whorl.services.experiments.variants import Prepared


def workflow_named(
    experiment: Experiment, prepared: Mapping[str, Prepared], variant: str
) -> Workflow:
    """The workflow of a variant; without a name, of the baseline."""
    name = variant or experiment.baseline
    if name not in prepared:
        raise no_variant(name, prepared)
    return prepared[name].workflow


def loop_named(
    experiment: Experiment, prepared: Mapping[str, Prepared], loop: str, variant: str
) -> Loop:
    """The loop of a variant; without a name, the one that is explored, or the first."""
    chosen = loop or next(iter(experiment.explore), "")
    return find_loop(workflow_named(experiment, prepared, variant), chosen)


def judge_in(loop: Loop) -> Judge | None:
    return next((part for part in conditions_in(loop.until) if isinstance(part, Judge)), None)


def check_judged(
    experiment: Experiment,
    prepared: Mapping[str, Prepared],
    against: str,
    name: str,
    variant: str,
) -> None:
    """Raises UsageError where there is no such judge; `against` is a grader, or empty."""
    graders = experiment.graders
    if against and against not in graders:
        advice = did_you_mean(against, list(graders)) or f"known: {', '.join(graders)}"
        raise UsageError(f"there is no grader {against!r}", help=advice, code="X100")
    if name in graders:
        workflow_named(experiment, prepared, variant)
        return
    loop = loop_named(experiment, prepared, name, variant)
    if judge_in(loop) is None:
        judges = [name for name, one in graders.items() if one.kind == "judge"]
        advice = f"name a grader that is one: {', '.join(judges) or 'the file has none'}"
        raise UsageError(f"loop {loop.name!r} has no judge", help=advice, code="X100")
