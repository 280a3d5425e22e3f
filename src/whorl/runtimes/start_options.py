"""How a run is started: its options, its first event, and the workflow that it pins."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.plan import Plan
from whorl.ir import Workflow, content_hash, from_json, to_json
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.runtimes.journal.journal import Journal

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
# How many letters of five bits an id has, and how many of these bits are random.
_ID_LENGTH, _ID_RANDOM = 17, 40
PINNED_MAX = 64


@dataclass(frozen=True, slots=True)
class Start:
    """How a run is started: its input, its limits, and its idempotency key."""

    input: dict[str, Json] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    iterations: int | None = None
    key: str = ""
    file: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    cold: bool = False
    # How many runs of its workflow run at once, of those that servers keep going.
    at_once: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    # How many iterations loops make, by name, whatever their rules say.
    explore: dict[str, int] = field(default_factory=dict)
    # Whether its cost budget pauses it, and ends no loop of it.
    pauses: bool = False
    refused: dict[str, Json] | None = None
    # Models and prompts that a person chose for steps, which the workflow has already.
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


def started(run: RunId, plan: Plan, start: Start, url: str) -> dict[str, Json]:
    """Returns the fields of a run's first event; `url` is the address of the server."""
    own = plan.workflow.limits.cost_usd
    limits = ({} if own is None else {"cost_usd": own}) | start.limits
    options: dict[str, Json] = {
        "run": run,
        "seed": os.urandom(8).hex(),
        "behaviour": BEHAVIOUR,
        "input": start.input,
        "limits": limits or None,
        "iterations": start.iterations,
        "explore": {**start.explore} or None,
        "pauses": start.pauses or None,
        "refused": start.refused,
        "steps": {name: {**fields} for name, fields in start.steps.items()} or None,
    }
    if plan.awaits_calls:
        import secrets

        options["callback"] = {"url": url, "token": secrets.token_urlsafe(16)}
    return {name: value for name, value in options.items() if value is not None}


def without_secrets(
    start: Start, workflow: Workflow, given: dict[str, Json], redacted: Callable[[Json], Json]
) -> Start:
    """Returns a start with this input, and without the operator's secrets.

    They stay in inputs that are stored encrypted.
    """
    secret = {port.name for port in workflow.inputs if port.secret}

    def shown(texts: dict[str, str]) -> dict[str, str]:
        return {name: str(redacted(text)) for name, text in texts.items()}

    return replace(
        start,
        input={n: value if n in secret else redacted(value) for n, value in given.items()},
        labels=shown(start.labels),
        steps={name: shown(fields) for name, fields in start.steps.items()},
    )


def new_run_id(now: float) -> RunId:
    """Returns a new id that sorts by time and is otherwise random."""
    number = int(now * 1000) << _ID_RANDOM | int.from_bytes(os.urandom(_ID_RANDOM // 8), "big")
    shifts = range(5 * (_ID_LENGTH - 1), -1, -5)
    return RunId("".join([ALPHABET[number >> shift & 31] for shift in shifts]))


class Pins:
    """The stored workflows that runs of a journal pin, and their plans."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._plans: dict[str, Plan] = {}
        self._digests: dict[RunId, str] = {}
        # The newest one: often, one workflow is started many times.
        self._pinned: tuple[Workflow, Json, str] | None = None

    def pin(self, workflow: Workflow) -> tuple[Json, str, Plan]:
        """Returns the workflow to store, its hash and its plan, which its runs share."""
        if self._pinned is None or self._pinned[0] is not workflow:
            encoded = to_json(workflow)
            self._pinned = (workflow, encoded, content_hash(encoded))
        _, encoded, digest = self._pinned
        if digest not in self._plans:
            self._plans[digest] = Plan(workflow)
        return encoded, digest, self._plans[digest]

    def keep(self, run: RunId, digest: str) -> None:
        """Keeps the plan of a run until it is dropped."""
        self._digests[run] = digest

    def plan(self, run: RunId) -> Plan:
        digest = self._digests.get(run)
        # Plans may be dropped while a run is being stored.
        if digest is None or digest not in self._plans:
            encoded = self._journal.workflow(run)
            digest = self._digests[run] = content_hash(encoded)
            if digest not in self._plans:
                self._plans[digest] = Plan(from_json(encoded))
        return self._plans[digest]

    def drop(self, run: RunId) -> None:
        """Forgets a run; if there are many plans, also those that no run needs."""
        self._digests.pop(run, None)
        if len(self._plans) > PINNED_MAX:
            needed = set(self._digests.values())
            self._plans = {digest: plan for digest, plan in self._plans.items() if digest in needed}
