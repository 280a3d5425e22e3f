"""The inputs of executions, activities and signals: plain JSON, without default values."""

from __future__ import annotations

import hashlib
from dataclasses import MISSING, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

from whorl.errors import UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan
from whorl.ir import Program, content_hash, from_json, to_json
from whorl.lazily import dataclass
from whorl.runtimes.journal import sealed_secrets
from whorl.runtimes.journal.journal import KEEPING, RunId
from whorl.runtimes.replay_core import PureDriver
from whorl.runtimes.start_options import started, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.start_options import Start


RUN = "whorl.run"
ASK = "ask"
PERFORM = "perform"
PREPARE = "prepare"
FIRING = "whorl.firing"
FIRE = "fire"
MEMORY = "whorl.memory"
ADD = "add"
AMEND = "amend"
ALL = "all"
ABOUT = "about"
# What a worker gives runs: what runs their code.
CODE = "whorl_code"
# Between two executions the state is handed on; Temporal's own limit is 51,200 events.
EVENTS_MAX = 8_000
# Intents are made within the task of a worker, which knows no events of it before its end: it ends
# after so many of them, so that none takes long, is lost as a whole, or makes a history too long.
INTENTS_MAX = 150
# How many characters the log of a program may have: Temporal takes states of 2 MB, unless large
# values are stored elsewhere.
LOG_MAX, LOGS_MAX = 1_200_000, 30_000_000
HEARTBEAT_S = 10.0
# The kinds of tasks that have effects for all inputs, and the calls that each counts as.
EFFECTS = {"ask": 1, "judge": 1, "agent": 1, "tool": 1}
EFFECTS |= {"http": 1, "connector": 1, "run": 1, "javascript": 1, "memory": 0, "file_write": 0}
# Temporal takes names of 1,000 bytes.
_KEY_MAX = 400
_PLANS_MAX = 64
_PLANS: dict[str, Plan] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The input of an execution.

    The first one of a run has its `first` events alone. A later one has the `state` after `seq`
    entries with this hash, and the id of the execution `before`, unless that one names this one. A
    fork also has the entries of its `past`. A machine that supports version `behaviour` drives it
    and hands it over after `events_max` events. A worker makes `intents_max` intents for it at a
    stretch, or any number (0). `effects` are the kinds of tasks whose intents need no worker.
    `queue` takes calls, unless `queues` has another one for their kind. `rate` is how much faster
    than the server's clock its time runs after `epoch`; only tests set it.
    """

    run: str
    workflow: Json
    digest: str
    name: str
    dialect: str
    queue: str
    behaviour: int
    events_max: int
    file: str = ""
    key: str = ""
    parent: str = ""
    origin: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    queues: dict[str, str] = field(default_factory=dict)
    effects: dict[str, int] = field(default_factory=dict)
    heartbeat_s: float = HEARTBEAT_S
    intents_max: int = 0
    first: list[Any] = field(default_factory=list)
    past: list[Any] = field(default_factory=list)
    state: str | None = None
    seq: int = 0
    hash: str = ""
    pins: dict[str, str] = field(default_factory=dict)
    before: str = ""
    epoch: float = 0.0
    rate: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return unusual(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Reads a beginning; fields that a later version has added are ignored."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: part for name, part in value.items() if name in known})

    def pilot(self) -> PureDriver:
        plan = plan_of(self.digest, self.workflow)
        return PureDriver(
            plan, self.state, seq=self.seq, digest=self.hash, pins=self.pins, effects=self.effects
        )

    def go_on(
        self, pilot: PureDriver, *, before: str = "", first: tuple[Event, ...] = ()
    ) -> Beginning:
        """Returns the input of the execution that continues this one from the machine's state."""
        return replace(
            self,
            behaviour=BEHAVIOUR,
            effects=EFFECTS,
            intents_max=INTENTS_MAX,
            state=pilot.machine.snapshot(),
            seq=pilot.seq,
            hash=pilot.digest,
            pins=pilot.pins,
            past=[],
            first=[event_to_json(event) for event in first],
            before=before,
        )

    def memory_keys(self) -> list[str]:
        """Returns the keys under which loops of the workflow remember across runs."""
        loops = plan_of(self.digest, self.workflow).loops.values()
        memories = [loop.memory for loop in loops if loop.memory is not None]
        return list(dict.fromkeys(each.key for each in memories if each.across_runs))

    @property
    def run_queue(self) -> str:
        """The queue of the run: its workers know the version that it began with, and its code."""
        return run_queue(self.queue, self.behaviour, self.program)

    @property
    def program(self) -> str:
        return program_of(plan_of(self.digest, self.workflow))

    def time(self, now: float) -> float:
        """Returns the time of the run."""
        return now if self.rate == 1.0 else self.epoch + (now - self.epoch) * self.rate


def run_queue(queue: str, behaviour: int = BEHAVIOUR, program: str = "") -> str:
    return f"{queue}-{behaviour}" + (f"-{program}" if program else "")


def program_of(plan: Plan) -> str:
    """Returns the place of the code of a workflow function, or "" for any other workflow."""
    nodes = plan.workflow.body.nodes
    return next((node.function for node in nodes if isinstance(node, Program)), "")


def memory_id(queue: str, key: str) -> str:
    """Returns the id of the workflow that holds the memory of a key."""
    is_short = len(key.encode()) <= _KEY_MAX
    name = key if is_short else f"sha256/{hashlib.sha256(key.encode()).hexdigest()}"
    return f"{MEMORY}/{queue}/{name}"


def id_of(key: str) -> RunId:
    """Returns the id of the one run that can have this key."""
    return RunId(f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def ways(settings: TemporalSettings) -> dict[str, Any]:
    """Returns which queues, kinds of tasks and limits a run has."""
    return {
        "queue": settings.queue,
        "queues": dict(settings.queues),
        "heartbeat_s": settings.heartbeat_s,
        "behaviour": BEHAVIOUR,
        "effects": EFFECTS,
        "intents_max": INTENTS_MAX,
        "events_max": EVENTS_MAX,
    }


def new_beginning(
    run: RunId,
    workflow: Workflow,
    start: Start,
    settings: TemporalSettings,
    *,
    redacted: Callable[[Json], Json],
    url: str,
    origin: str,
) -> Beginning:
    """Builds the input of a run's first execution. Raises UsageError W920."""
    workflow, given = sealed_secrets.without_defaults(
        with_log(workflow, LOGS_MAX if settings.values else LOG_MAX), start.input
    )
    encoded = to_json(workflow)
    digest = content_hash(encoded)
    plan = plan_of(digest, encoded)
    check_runnable(plan, settings)
    if start.at_once and origin in KEEPING:
        raise _refused(
            "workers do not count how many runs of a workflow run at once",
            "leave out its limit in [queue] and the concurrency of its trigger",
        )
    start = without_secrets(start, workflow, given, redacted)
    body = started(run, plan, start, url)
    redaction = sealed_secrets.redaction_of(sealed_secrets.secrets_of(workflow, given))
    return Beginning(
        run=run,
        workflow=encoded,
        digest=digest,
        name=workflow.name,
        dialect=workflow.dialect,
        file=start.file,
        key=start.key,
        origin=origin,
        labels=start.labels,
        sources=sealed_secrets.shown_sources(start.sources, redaction),
        first=[event_to_json(Event("run.started", "", 0.0, body))],
        **ways(settings),
    )


def with_log(workflow: Workflow, most: int) -> Workflow:
    """Has the state of a program keep its log: workers have no journal to read it from."""
    nodes = (
        replace(node, keeps=True, log_max=most) if isinstance(node, Program) else node
        for node in workflow.body.nodes
    )
    return replace(workflow, body=replace(workflow.body, nodes=tuple(nodes)))


def take_prepared(pilot: PureDriver, prepared: list[Any], now: float) -> None:
    """Feeds what a worker has prepared, but for a step of code that must begin again since."""
    machine = pilot.machine
    for each in prepared:
        restarts = each.get("restarts")
        if restarts is None or (restarts == machine.restarts and not machine.done):
            pilot.arrive(event_from_json(each, now))


def event_to_json(event: Event) -> dict[str, Any]:
    return {"kind": event.kind, "address": event.address, "at": event.at, "body": event.body}


def event_from_json(value: dict[str, Any], now: float = 0.0) -> Event:
    """Returns the event of a document; an event without a time gets `now`."""
    return Event(value["kind"], value["address"], value["at"] or now, value["body"])


def timer_name(address: str, due: float) -> str:
    return f"{address} {due!r}"


def timer_of(name: str) -> tuple[str, float]:
    address, _, due = name.rpartition(" ")
    return address, float(due)


def unusual(item: Any) -> dict[str, Any]:
    """Returns the fields of an object that differ from their defaults."""
    found = {}
    for each in fields(item):
        value = getattr(item, each.name)
        # A field without a default is always included.
        usual = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != usual:
            found[each.name] = value
    return found


def plan_of(digest: str, workflow: Json) -> Plan:
    if digest not in _PLANS:
        if len(_PLANS) >= _PLANS_MAX:
            _PLANS.clear()
        _PLANS[digest] = Plan(from_json(workflow))
    return _PLANS[digest]


# The requirements of a workflow that workers on several machines may not meet.

# Workers share no disk: these tasks work in a folder.
OF_FOLDERS = frozenset({"run", "agent", "file_glob", "file_read", "file_write"})


def check_runnable(plan: Plan, settings: TemporalSettings) -> None:
    """Checks that the cluster can run a workflow. Raises UsageError W920 with the missing line."""
    for key, task in plan.tasks.items():
        place = key.partition(":")[2] or key
        is_local = works_in_folder(task.kind, (name for name, _ in task.inputs.entries))
        if is_local and task.kind not in settings.queues:
            raise needs_queue(place, task.kind)
    if plan.is_confidential and not settings.encrypt_with:
        raise _refused(
            "the workflow has secret inputs or outputs, which Temporal would keep readable",
            'set [runtime.temporal] encrypt_with = "env:WHORL_KEY"',
        )


def works_in_folder(kind: str, names: Iterable[object]) -> bool:
    return kind in OF_FOLDERS or (kind == "ask" and not {"images", "files"}.isdisjoint(names))


def needs_queue(place: str, kind: str) -> UsageError:
    return _refused(
        f"step {place!r} works in a folder ({kind}), which workers do not share",
        f'name a queue for it: [runtime.temporal.queues] {kind} = "NAME"',
    )


def _refused(words: str, advice: str) -> UsageError:
    return UsageError(words, help=f'{advice}, or run it with [runtime] kind = "local"', code="W920")
