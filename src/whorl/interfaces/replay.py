"""Record and replay: any run is a cassette, and a changed workflow is run against its replies.

Replies are found by address. A call whose inputs have changed is told with both versions and gets
the reply that was recorded; a call that was never recorded is a miss, and misses are failures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, UsageError
from whorl.interpreter.events import Event
from whorl.providers.task import Cap, Estimate, Reply, Usage, Worst
from whorl.runtimes.folding import fold
from whorl.runtimes.projection import document
from whorl.runtimes.simulated import SimulatedRuntime

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request, TaskKind
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

FORMAT = 1
# What the one who started a run may have set beside its input, and what its chance is drawn from.
_OPTIONS = ("iterations", "limits", "seed")
# What a person asked of a run on its way, which its file does not say.
_STEERING = {
    "run.continued": "continued",
    "run.accepted": "ended by accepting an iteration",
    "run.forked": "forked from another one",
}
DECISIONS_MAX = 1_000


@dataclass(slots=True)
class Cassette:
    """What a run was given, what its calls were asked and answered, and what it came to."""

    workflow: str
    input: dict[str, Json]
    calls: dict[str, dict[str, Json]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Json]] = field(default_factory=dict)
    result: dict[str, Json] = field(default_factory=dict)
    options: dict[str, Json] = field(default_factory=dict)

    def to_text(self) -> str:
        """The cassette as a file that can be kept beside the workflow."""
        fields: dict[str, Json] = {
            "cassette": FORMAT,
            "workflow": self.workflow,
            "input": self.input,
            "options": self.options,
            "calls": dict(self.calls),
            "decisions": dict(self.decisions),
            "result": self.result,
        }
        return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def cassette_from_text(text: str, file: str) -> Cassette:
    """Reads what `to_text` wrote."""
    try:
        found = json.loads(text)
        assert found["cassette"] == FORMAT
        return Cassette(
            found["workflow"],
            found["input"],
            found["calls"],
            found["decisions"],
            found["result"],
            found.get("options", {}),
        )
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise UsageError(
            f"{file!r} is no cassette",
            help="make one with `whorl test FILE --save CASSETTE`",
        ) from error


def cassette_from_run(store: SqliteStore, run: RunId, result: dict[str, Json]) -> Cassette:
    """Takes a run's replies out of its journal."""
    cassette = Cassette(store.run(run).name, {}, result=_comparable(result))
    for entry in store.read(run):
        event = entry.event
        body = event.body
        match event.kind:
            case "run.started":
                given = body.get("input")
                cassette.input = given if isinstance(given, dict) else {}
                cassette.options = {name: body[name] for name in _OPTIONS if body.get(name)}
            case "task.started":
                names = ("kind", "inputs", "reserve", "cap", "at_worst")
                call = {name: body.get(name) for name in names if name in body}
                cassette.calls.setdefault(event.address, {}).update(call)
            case "task.finished":
                told = {k: v for k, v in body.items() if k not in ("value", "usage")}
                call = {"value": body.get("value"), "usage": body.get("usage"), "detail": told}
                cassette.calls.setdefault(event.address, {}).update(call)
            case "task.failed":
                cassette.calls.setdefault(event.address, {}).update({"error": body.get("error")})
            case "gate.decided":
                cassette.decisions[event.address] = body
    return cassette


def steered(store: SqliteStore, run: RunId) -> str:
    """How a person steered a run, so that its file alone does not give it again; or nothing."""
    kinds = (entry.event.kind for entry in store.read(run))
    return next((_STEERING[kind] for kind in kinds if kind in _STEERING), "")


@dataclass(frozen=True, slots=True)
class Change:
    """A call that is asked something else than was recorded."""

    address: str
    before: Json
    now: Json


@dataclass(slots=True)
class Replayed:
    """How a replay differs from its cassette; empty lists mean that it does not."""

    result: dict[str, Json]
    recorded: dict[str, Json]
    changes: list[Change]
    misses: list[str]
    unused: list[str]

    @property
    def is_same(self) -> bool:
        """Whether nothing has changed."""
        return not (self.changes or self.misses or self.unused) and self.result == self.recorded


class Player:
    """Implements `Workers` with the replies of a cassette."""

    def __init__(self, cassette: Cassette) -> None:
        self.cassette = cassette
        self.changes: list[Change] = []
        self.misses: list[str] = []
        self.played: set[str] = set()
        self._kind = _Playing(self)

    def kind(self, name: str) -> TaskKind:
        """The one kind there is."""
        return self._kind

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """Told as if it were real."""
        return "outside"

    def redacted(self, value: Json) -> Json:
        """What was recorded has no secrets."""
        return value


class _Playing:
    effect: Effect = "outside"

    def __init__(self, player: Player) -> None:
        self._player = player

    def estimate(self, request: Request) -> Estimate:
        """What was reserved, so that a budget ends the replay where it ended the run."""
        call: dict[str, Any] = self._player.cassette.calls.get(request.address) or {}
        reserve = call.get("reserve")
        names = ("calls", "tokens", "cost_usd")
        known: dict[str, Any] = reserve if isinstance(reserve, dict) else {}
        cap, at_worst = call.get("cap"), call.get("at_worst")
        return Estimate(
            **{name: known[name] for name in names if name in known},
            cap=Cap(**cap) if isinstance(cap, dict) else None,
            at_worst=Worst(**at_worst) if isinstance(at_worst, dict) else None,
        )

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Gives the recorded reply."""
        player = self._player
        call: dict[str, Any] | None = player.cassette.calls.get(request.address)
        if call is None or ("value" not in call and "error" not in call):
            player.misses.append(request.address)
            message = f"no reply was recorded for {request.address!r}"
            raise ProviderError(message, code="P112")
        player.played.add(request.address)
        if call.get("inputs") is not None and call["inputs"] != request.inputs:
            player.changes.append(Change(request.address, call["inputs"], request.inputs))
        if "value" not in call:
            raise _fault(call["error"])
        usage = call.get("usage") or {}
        return Reply(call["value"], Usage(**usage), call.get("detail") or {})


def _fault(error: dict[str, Any]) -> ProviderError:
    return ProviderError(
        str(error.get("message")),
        code=str(error.get("code")),
        retryable=bool(error.get("retryable")),
        detail=error.get("detail") or {},
        answered=error.get("answered"),
    )


def replay(workflow: Workflow, cassette: Cassette) -> Replayed:
    """Runs a workflow against a cassette, in virtual time."""
    player = Player(cassette)
    runtime = SimulatedRuntime(player)
    run = runtime.start(workflow, cassette.input, run="replay", **cassette.options)
    status = runtime.resume(run)
    for _ in range(DECISIONS_MAX):
        machine = fold(runtime.journal, run).machine
        gates = [a for a, entry in machine.pending.items() if entry["what"] == "gate"]
        known = [address for address in gates if address in cassette.decisions]
        player.misses.extend(address for address in gates if address not in cassette.decisions)
        if status != "waiting" or not known:
            break
        decided = (Event("gate.decided", a, machine.now, cassette.decisions[a]) for a in known)
        status = runtime.resume(run, tuple(decided))
    state = fold(runtime.journal, run).machine.state
    body: dict[str, Json] = dict(state["result"] or {}) | {"usage": dict(state["usage"])}
    final = Event("run.finished", "", float(state["at"]), body)
    told = document(run, status, final, runtime.journal)
    answered = [a for a, call in cassette.calls.items() if "value" in call or "error" in call]
    unused = [address for address in answered if address not in player.played]
    return Replayed(_comparable(told), cassette.result, player.changes, player.misses, unused)


def _comparable(result: dict[str, Any]) -> dict[str, Json]:
    """The part of a result document that a replay must give again."""
    loops = [
        {name: value for name, value in loop.items() if name != "usage"} for loop in result["loops"]
    ]
    error = result["error"]
    return {
        "status": result["status"],
        "outputs": result["outputs"],
        "loops": loops,
        "error": None if error is None else {"code": error["code"], "message": error["message"]},
    }
