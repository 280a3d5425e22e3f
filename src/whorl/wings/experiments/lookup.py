"""What people name of an experiment: variants, loops, judges, graders; wrong ones cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError, did_you_mean
from whorl.ir import Judge
from whorl.ir.expressions import conditions_in
from whorl.services.files.preflight import find_loop
from whorl.wings.experiments.variants import no_variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import Loop, Workflow
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.variants import Prepared


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


def outputs_unknown(loop: Loop) -> UsageError:
    words = f"steps after {loop.name!r} decide the outputs, so those of another iteration are "
    advice = "grade `results` of the iteration instead of `outputs`"
    return UsageError(f"{words}not known", help=advice, code="X108")


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
    judges = [known for known, one in graders.items() if one.kind == "judge"]
    advice = f"name a grader that is one: {', '.join(judges) or 'the file has none'}"
    if name in graders:
        workflow_named(experiment, prepared, variant)
        if graders[name].is_free:
            words = f"grader {name!r} is no judge: it is an expression"
            raise UsageError(words, help=advice, code="X100")
        if name == against:
            others = ", ".join(other for other in graders if other != name)
            words = f"grader {name!r} cannot be compared with itself"
            known = f"--against another one: {others}" if others else "--against labels.csv"
            raise UsageError(words, help=known, code="X100")
        return
    loop = loop_named(experiment, prepared, name, variant)
    if judge_in(loop) is None:
        raise UsageError(f"loop {loop.name!r} has no judge", help=advice, code="X100")
