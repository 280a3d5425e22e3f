"""What a run may come to, before it starts: which models it asks, how often, and at what cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, UsageError
from whorl.ir import Constant, Judge, Loop, Task, from_json, to_json
from whorl.ir.expressions import conditions_in, expressions_in
from whorl.ir.worst_case import PRICED, Priced, worst_case
from whorl.lazily import dataclass
from whorl.services.files.effects import Effects, effects_of, nodes_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Settings
    from whorl.providers.task import Request

MODELS = frozenset({"ask", "judge"})
_CHOOSING = frozenset({"model", "provider", "model_url"})


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run can do: None where a value decides, or where no price is known.

    `calls` is the most, `usual` has each call once, without any that is tried again. `cost_usd` is
    expected; `bound_usd` is the most, where something bounds it: a budget, or limits of all that
    is sent. `answer_tokens` is how long answers are reckoned whose length is open.
    `effects` names what it would read, write, run and call.
    """

    calls: int | None
    usual: int | None
    cost_usd: float | None
    budget_usd: float | None = None
    is_priced: bool = True
    has_tools: bool = False
    bound_usd: float | None = None
    answer_tokens: int = 0
    effects: Effects = Effects()


def forecast(
    workflow: Workflow,
    providers: Providers,
    *,
    iterations: int | None = None,
    budget_usd: float | None = None,
    included: Iterable[str] = (),
) -> Forecast:
    if iterations is not None:
        limited = from_json(_limit(to_json(workflow), iterations))
        workflow = replace(limited, name=workflow.name)
    budget = budget_usd if budget_usd is not None else workflow.limits.cost_usd
    asked = [request for request, _ in asked_in(workflow)]
    prices = _Prices(providers)
    worst = worst_case(workflow, prices.of)
    cost, bound = (worst.cost_usd, worst.bound_usd) if asked else (None, None)
    if budget is not None and asked and prices.all_known:
        cost = budget if cost is None else min(cost, budget)
        bound = budget if bound is None else min(bound, budget)
    return Forecast(
        calls=worst.calls,
        usual=worst.typical,
        cost_usd=cost,
        budget_usd=budget,
        is_priced=prices.all_known,
        has_tools=any("tools" in task.inputs for task in asked),
        bound_usd=bound,
        answer_tokens=prices.answer_tokens,
        # Whom the models of a file that is not trusted would ask is not known without it.
        effects=effects_of(
            workflow, providers.settings, () if providers.settings.untrusted else asked, included
        ),
    )


class _Prices:
    """What the answer of a step is expected to cost, by what is configured."""

    def __init__(self, providers: Providers) -> None:
        self.all_known = True
        self.answer_tokens = 0
        self._providers = providers

    def of(self, workflow: Workflow, node: Task | Judge) -> Priced:
        asked, _ = _asked_of(workflow, "", node)
        try:
            estimate = self._providers.kind(asked.kind).estimate(asked)
        except (ProviderError, UsageError):
            self.all_known = False
            return Priced()
        self.all_known &= estimate.cost_usd is not None
        if estimate.cap is not None and estimate.cost_usd:
            self.answer_tokens = max(self.answer_tokens, estimate.cap.least)
        is_fixed = False
        if isinstance(node, Task):
            # All that is sent is known before the run, and an agent's cost is limited.
            usual = [fields for kind, fields in workflow.defaults if kind == node.kind]
            named = [name for fields in (node.inputs, *usual) for name, _ in fields.entries]
            grows = node.session or (node.returns is not None and node.repairs) or "tools" in named
            is_open = any(True for fields in (node.inputs, *usual) for _ in expressions_in(fields))
            is_fixed = node.kind == "agent" or not (grows or is_open)
        is_most = estimate.cost_usd == 0 or (estimate.cap is None and is_fixed)
        return Priced(estimate.cost_usd, is_most)


def asks_models(workflow: Workflow) -> bool:
    return any(asked.kind in MODELS for asked, _ in asked_in(workflow))


def asked_in(workflow: Workflow) -> Iterator[tuple[Request, bool]]:
    """All that models, agents and judges are asked, and whether who that is is known before."""
    for part, path, node in nodes_of(workflow):
        if isinstance(node, Loop):
            judges = (c for c in conditions_in(node.until) if isinstance(c, Judge))
            yield from (_asked_of(part, path, judge) for judge in judges)
        elif isinstance(node, Task) and node.kind in PRICED:
            yield _asked_of(part, path, node)


def _asked_of(workflow: Workflow, path: str, node: Task | Judge) -> tuple[Request, bool]:
    """What is asked, as far as it is known, and whether its model is known before the run."""
    from whorl.providers.task import Request

    kind = node.kind if isinstance(node, Task) else "judge"
    given: dict[str, Json] = {}
    for fields in (*(usual for name, usual in workflow.defaults if name == kind), node.inputs):
        values = plain(fields)
        given |= values if isinstance(values, dict) else {}
    if isinstance(node, Judge):
        given |= {"model": list(node.model)} if node.model else {}
        given |= {"question": plain(node.question), "text": ""}
        given |= {"reason": node.reason, "evidence": node.evidence}
        return Request("", path, kind, given), True
    chosen = (value for name, value in node.inputs.entries if name in _CHOOSING)
    is_decided = all(isinstance(value, Constant) for value in chosen)
    return Request("", path, kind, given), is_decided


def models_of(workflow: Workflow, settings: Settings) -> list[str]:
    """The models that the steps of a workflow ask, as far as that is known before a run."""
    from whorl.providers.models.selection import choose_models

    names: set[str] = set()
    for request, is_decided in asked_in(workflow):
        if request.kind in MODELS and is_decided:
            try:
                chosen = choose_models(settings, request.inputs).candidates
            except ProviderError:
                continue
            names |= {f"{one.provider.name}/{one.model}" for one in chosen}
    return sorted(names)


def unpriced_models(workflow: Workflow, providers: Providers) -> list[str]:
    """The models that the steps of a workflow ask and that have no known price."""
    from whorl.providers.models.selection import choose_models

    names: set[str] = set()
    for request, _ in asked_in(workflow):
        try:
            if providers.kind(request.kind).estimate(request).cost_usd is None:
                chosen = choose_models(providers.settings, request.inputs).candidates
                names |= {f"{one.provider.name}/{one.model}" for one in chosen}
        except (ProviderError, UsageError):
            continue
    return sorted(names)


def raises_limits(workflow: Workflow, budget_usd: float | None, iterations: int | None) -> bool:
    """Whether a run would get more dollars, or a loop more iterations, than the file gives it."""
    own = workflow.limits.cost_usd
    limits = (node.limits.iterations for _, _, node in nodes_of(workflow) if isinstance(node, Loop))
    # What is computed in the run is not known yet.
    most = min((n if isinstance(n, int) else 0 for n in limits), default=iterations or 0)
    return (iterations or 0) > most or (own is not None and (budget_usd or 0) > own)


def _limit(part: Json, iterations: int) -> Json:
    """A workflow, or a part of one, with another limit of iterations in all its loops."""
    if isinstance(part, list):
        return [_limit(item, iterations) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("is") == "LoopLimits":
        return part | {"iterations": iterations}
    return {key: _limit(item, iterations) for key, item in part.items()}
