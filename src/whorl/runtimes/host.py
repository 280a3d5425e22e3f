"""Runs the code of a program beside its machine, in an event loop of its own without a clock.

The code waits only for the answers of the machine. It runs until all of it waits; what it
requests until then is one event of the journal. When it begins again, it receives the same answers
in the same order, and must request the same. Timers of asyncio are durable waits of the run.
"""

from __future__ import annotations

import random
import time
import traceback
from collections import deque
from contextlib import nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.errors import CodeChanged, LimitReached, RequestFailed, UsageError
from whorl.interpreter.constructs.program import WORD, is_at
from whorl.interpreter.events import Event, inner, join
from whorl.interpreter.frames import error_at, failed, is_failure
from whorl.lazily import dataclass
from whorl.runtimes.host_loop import HostLoop
from whorl.runtimes.program_log import Given
from whorl.runtimes.run_values import RunValues

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Generator, Iterator

    from whorl.interpreter.events import Give, Perform
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.program_log import Log, Step

    # Begins the code of a program with its inputs.
    Begin = Callable[[dict[str, Any]], Coroutine[Any, Any, Any]]

ROOT = inner("", WORD)
# The programs that this process has defined, by `module:name`, for runtimes without providers.
PROGRAMS: dict[str, Begin] = {}
current: ContextVar[Place] = ContextVar("whorl_place")
# So many answers that lead to no request are taken before that is noted.
_UNNOTED_MAX = 50
SLOW_S = 0.2
_SHOWN_MAX = 300
_SECONDS: dict[str, Json] = {"is": "Expression", "syntax": "jinja", "source": "s"}
# Where the lines of a traceback are that are not those of the workflow's author.
_NOT_OWN = ("/src/whorl/", "/site-packages/", "/lib/python", "\\Lib\\")


@dataclass(slots=True, eq=False)
class Place:
    """Where code is: in the run, or in an iteration, an item or a part below an outer place.

    `fault` is the newest error that the code received there, `is_cut` whether it was cancelled.
    """

    host: Host
    address: str
    outer: Place | None = None
    name: str = ""
    names: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)
    fault: dict[str, Any] | None = None
    is_cut: bool = False
    is_over: bool = False
    _random: random.Random | None = None

    def unused(self, wish: str) -> str:
        """Returns the name, or `name~2` and so on if it is used already."""
        while True:
            number = self.names[wish] = self.names.get(wish, 0) + 1
            name = _numbered(wish, number)
            if name not in self.used:
                return name

    @property
    def random(self) -> random.Random:
        """The dice of the place, which fall in the same way again."""
        if self._random is None:
            self._random = random.Random(f"{self.host.seed} {self.address}")
        return self._random


@dataclass(slots=True, eq=False)
class Asked:
    """What the code waits for at an address: the request, and the future of its answer."""

    place: Place
    name: str
    request: dict[str, Any]
    future: asyncio.Future[Any]


class Host:
    """Runs the code of one run; the driver gives it answers, and takes its steps."""

    def __init__(
        self,
        machine: Machine,
        clock: Callable[[], float],
        *,
        functions: Any = None,
        redacted: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self._machine, self._clock, self._redacted = machine, clock, redacted
        self._functions = functions
        self.is_active = False
        self._restarts = -1
        self._reset()

    def _reset(self) -> None:
        self.loop = HostLoop(self)  # type: ignore[abstract]
        self.requests: list[dict[str, Any]] = []
        # The errors of iterations that an exception has just left.
        self.left: list[dict[str, Any]] = []
        self._given = 0
        self._took: list[Given] = []
        self._lost: list[int] = []
        self._again: int | None = None
        self._news: deque[Given] = deque()
        self._waits: dict[str, Asked] = {}
        self._wanted: set[str] = set()
        # What was requested, while the code may request it in another order.
        self._before: dict[str, dict[str, Any]] = {}
        # What was requested before, and is requested again with an answer that is to come.
        self._owed: list[dict[str, Any]] = []
        # The iterations, items and parts that have ended meanwhile.
        self._left_again: dict[str, Place] = {}
        self._ended: dict[str, dict[str, Any]] = {}
        self._listeners: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._places: dict[str, Place] = {}
        self._hidden: dict[str, dict[str, Any]] = {}
        self._timers: dict[asyncio.TimerHandle, str] = {}
        self._main: asyncio.Task[Any] | None = None
        self._values: RunValues | nullcontext[None] = nullcontext()
        # Whether the code is not the one that began the run.
        self._is_other = False

    @property
    def dice(self) -> random.Random:
        """The dice of the place where the code is."""
        return current.get().random

    @property
    def seed(self) -> str:
        return self._machine.state["seed"]

    @property
    def is_outdated(self) -> bool:
        """Whether the code has to begin again: at first, and if the run has gone back."""
        return self._restarts != self._machine.restarts

    def _name_before(self, place: Place, wish: str, request: dict[str, Any]) -> str:
        """Returns the name that a request had, if it comes in another order than before."""
        own = str(request["name"])
        known = self._before.get(join(place.address, own))
        number = 0
        while known is not None and not _same(known, request):
            number += 1
            name = _numbered(wish, number)
            known = self._before.get(join(place.address, name))
            if known is not None and name not in place.used and _same(known, request):
                place.used.add(name)
                place.names[wish] -= 1
                return name
        return own

    def _find(self, place: str) -> Begin | None:
        """Returns what begins a program: that of this run, or of this process in a test."""
        if self._functions is None:
            return PROGRAMS.get(place)
        begin: Begin | None = self._functions.program(place)
        return begin

    # What code calls through the interface.

    def ask(self, place: Place, wish: str, node: Json, extra: Any = None) -> Asked:
        """Requests a node at a place; `extra` are its inputs, as JSON."""
        name = place.unused(wish)
        request: dict[str, Any] = {"at": place.address, "name": name, "node": node}
        if extra is not None:
            request["extra"] = self._redacted(extra)
        if self._before:
            name = request["name"] = self._name_before(place, wish, request)
        if extra is not None and request["extra"] is not extra and request["extra"] != extra:
            self._hidden[join(place.address, name)] = extra
        if place.is_over:
            raise LimitReached(error_at(place.address, "R102", f"{place.address!r} has ended"))
        self.requests.append(request)
        return self._expect(place, name, request)

    def expect(self, asked: Asked) -> asyncio.Future[Any]:
        """Waits for a further answer at an address, such as the next iteration of a loop."""
        address = join(asked.place.address, asked.name)
        further = self._expect(asked.place, asked.name, asked.request)
        if (body := self._ended.pop(address, None)) is not None:
            self._settle(address, body)
        return further.future

    def listen(self, asked: Asked, heard: Callable[[dict[str, Any]], None]) -> None:
        """Has `heard` called with how a request ended, before the code learns it."""
        self._listeners[join(asked.place.address, asked.name)] = heard

    def cancel(self, asked: Asked) -> None:
        """Takes back a request that the code is inside of, such as a loop."""
        self.requests.append({"at": asked.place.address, "name": asked.name, "cancel": True})

    def enter(self, outer: Place, name: str, address: str) -> Place:
        """Returns the place of an iteration, item or part that has begun."""
        place = self._places[address] = Place(self, address, outer, name)
        return place

    def end(self, place: Place, end: dict[str, Any]) -> None:
        """Ends an iteration, an item or a part; tasks that it has left running are cancelled."""
        place.is_over = True
        self._places.pop(place.address, None)
        if "error" in end:
            self._keep_cut(place.address)
        if self._before:
            self._left_again[place.address] = place
        running = [task for task in place.tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            names = ", ".join(sorted(task.get_name() for task in running)[:5])
            self.warn("R143", f"{place.address} has ended while its tasks ran: {names}", place)
        self.requests.append({"at": place.address, "end": end})

    def warn(self, code: str, message: str, place: Place | None = None) -> None:
        at = place.outer.address if place is not None and place.outer else ""
        self.requests.append({"at": at, "warn": {"code": code, "message": message}})

    def warn_of_values(self, name: str, instead: str) -> None:
        """Warns of a time or a random number, which differs when the code begins again."""
        self.warn(
            "R145",
            f"the workflow calls {name}(), which gave it a value of the run; write "
            f"`whorl.{instead}()`, or call it in a function with @whorl.step",
        )

    def register(self, name: str, function: Callable[..., Any], *, pure: bool) -> None:
        """Makes a function known that the code calls as a step."""
        if self._functions is not None:
            self._functions.keep(name, function, pure=pure)

    # What the event loop of the code calls.

    def began(self, task: asyncio.Task[Any]) -> None:
        """Notes where a task began: it is cancelled when that iteration, item or part ends."""
        place = current.get(None)
        if place is not None and place.outer is not None:
            place.tasks.append(task)

    def wait(self, handle: asyncio.TimerHandle, seconds: float) -> None:
        """Makes a timer of the code a durable wait."""
        place = current.get()
        node: Json = {"is": "Wait", "duration": {**_SECONDS}}
        asked = self.ask(place, "sleep", node, {"s": round(max(seconds, 0.0), 6)})
        self._timers[handle] = join(place.address, asked.name)
        asked.future.add_done_callback(
            lambda done: None if done.cancelled() else self.loop.ready.append(handle)
        )

    def wait_no_more(self, handle: asyncio.TimerHandle) -> None:
        wait = self._waits.get(self._timers.pop(handle, ""))
        if wait is not None:
            wait.future.cancel()

    # What the driver calls.

    def give(self, command: Give) -> None:
        given = (command.number, command.address, command.at, command.body, command.source)
        self._news.append(Given(*given))

    def step(self) -> Event | None:
        """Runs the code with the answers that have come, until it requests something."""
        while self._news and not self.requests:
            self._take(self._news.popleft())
            self._leave_out_owed()
        is_idle = not (self._waits or self._news or self.requests)
        if is_idle and self._main is not None and not self._main.done():
            words = "the workflow waits for something that nothing in it can set"
            self.requests.append({"at": "", "end": {"error": error_at("", "R141", words)}})
        is_due = len(self._took) >= _UNNOTED_MAX or self._machine.open["gate"] > 0
        if not self.requests and not (self._took and not self._news and is_due):
            return None
        body: dict[str, Any] = {
            "given": self._given,
            "took": [given.as_json() for given in self._took],
            "requests": self.requests,
        }
        if self._lost:
            body["lost"] = self._lost
        if self._again is not None:
            body["again"] = self._again
        self.requests, self._took, self._lost, self._again = [], [], [], None
        return Event("program.stepped", ROOT, self._clock(), body)

    def begin_again(self, log: Log) -> Generator[None, None, None]:
        """Runs the code from its beginning through all answers that it was given before.

        Raises CodeChanged if it requests something else.
        """
        self.close()
        self._reset()
        self.is_active, self._restarts = True, self._machine.restarts
        restart = self._machine.state["program"].get("restart")
        zone = _zone(log, restart)
        lost = set(restart or ())
        before = _requested(log)
        after: set[str] = set()
        is_in = False
        for step in log.steps:
            is_in = is_in or any(given.number >= zone for given in step.took)
            self._before = before if is_in or step.free else {}
            for given in step.took:
                if given.number in lost or not self._take(given, before if is_in else None):
                    self._lost.append(given.number)
                yield
            if is_in:
                after |= {join(r["at"], r["name"]) for r in step.requests if "node" in r}
                continue
            if not step.free:
                if step.late:
                    self._owed += [r for r in step.requests if "warn" not in r]
                    step = replace(step, requests=[])
                self._leave_out_owed()
                _compare(step, self.requests)
            self.requests = []
        self._took, self._before = [], {}
        if restart is not None:
            self._again = int(zone) if log.steps else None
            coming = {given.address for given in log.left if given.number not in lost}
            gone = {given.address for given in _given(log) if given.number in lost}
            self._reconcile(before, coming, gone)
            self._owed = [r for r in self._owed if join(r["at"], r.get("name", "")) in coming]
            for address in after.difference(self._wanted):
                self._take_back(before[address])
        else:
            self.requests, self._lost = [], []
        if self._is_other and log.steps and not log.steps[-1].old:
            name = self._machine.plan.workflow.name
            self.warn("W917", f"the code of {name!r} is not the one that began the run")
        self._news.extend(given for given in log.left if given.number not in lost)
        self._lost += [given.number for given in log.left if given.number in lost]

    def _leave_out_owed(self) -> None:
        for request in [r for r in self.requests if r in self._owed]:
            self._owed.remove(request)
            self.requests.remove(request)

    def close(self) -> None:
        """Leaves the code where it is; nothing that it does on its way out counts."""
        self.is_active, self._restarts = False, -1
        self._waits.clear()
        for task in self.loop.tasks:
            if not task.done():
                self.loop.leave(task)

    def real_inputs(self, perform: Perform) -> dict[str, Json]:
        """Returns the inputs of a call with the operator's secrets, which the journal hides."""
        if not self._hidden:
            return perform.inputs
        base = perform.address.partition("/:")[0]
        head, mark, number = base.rpartition("#")
        address = head if mark and number.isdigit() else base
        return perform.inputs | self._hidden.get(address, {})

    def _keep_cut(self, at: str) -> None:
        """Cancels nothing in a place that fails: what runs in it ends with it, and may continue."""
        self.requests = [
            r for r in self.requests if "cancel" not in r or not (at == "" or is_at(r["at"], at))
        ]

    # Answers.

    def _take(self, given: Given, before: dict[str, dict[str, Any]] | None = None) -> bool:
        """Runs the code with an answer, until all of it waits; false if it does not want it."""
        self._given = max(self._given, given.number)
        self._took.append(given)
        if before is not None and not self._is_wanted(given, before):
            return False
        self.loop.now = given.at
        if given.address == ROOT:
            self._begin()
        elif not self._settle(given.address, given.body):
            return before is None
        self.left = []
        begun = time.perf_counter()
        with self._values:
            self.loop.run_ready()
        if (took_s := time.perf_counter() - begun) > SLOW_S:
            words = f"the code of the workflow computed for {took_s:.1f} s in one go, which holds "
            self.warn("R142", f"{words}up other runs; put that into a function with @whorl.step")
        return True

    def _is_wanted(self, given: Given, before: dict[str, dict[str, Any]]) -> bool:
        wait = self._waits.get(given.address)
        if wait is None:
            return given.address == ROOT
        known = before.get(given.address)
        return known is None or _same(known, wait.request)

    def _begin(self) -> None:
        machine = self._machine
        node: Any = next(iter(machine.plan.workflow.body.nodes))
        inputs = machine.values_at(machine.frames[machine.state["root"]]["own_scope"])
        names = [port.name for port in machine.plan.workflow.inputs]
        context = copy_context()
        self._places[""] = place = Place(self, "")
        context.run(current.set, place)
        begin = self._find(node.function)
        if begin is None:
            raise UsageError(
                f"the program {node.function!r} of this run is not here",
                help="resume it in a program that imports it, or name it in whorl.toml: "
                f'`[workflows] python = ["{node.function}"]`',
                code="P114",
            )
        author = getattr(begin, "__self__", None)
        self._is_other = getattr(author, "code", node.code) != node.code
        self._values = RunValues(self, getattr(author, "namespace", {}))
        coroutine = begin({name: inputs[name] for name in names if name in inputs})
        self._main = self.loop.create_task(coroutine, name=node.function, context=context)
        self._main.add_done_callback(self._ended_with)

    def _ended_with(self, task: asyncio.Task[Any]) -> None:
        if not self.is_active:
            return
        fault = None if task.cancelled() else task.exception()
        if task.cancelled() or fault is not None:
            for error in self.left:
                error |= error_of(fault, error["path"])
            self._keep_cut("")
            self.requests.append({"at": "", "end": {"error": error_of(fault, "")}})
        else:
            self.requests.append({"at": "", "end": {"value": task.result()}})

    def _settle(self, address: str, body: dict[str, Any]) -> bool:
        """Passes an answer to what waits for it; how a loop ended also to what waits inside."""
        if "status" not in body:
            wait = self._waits.pop(address, None)
            if wait is None or wait.future.done():
                return False
            wait.future.set_result(body)
            return True
        if (heard := self._listeners.get(address)) is not None:
            heard(body)
        is_cut = self._cut(address, body) if "at" in body else False
        wait = self._waits.pop(address, None)
        if wait is None or wait.future.done():
            if "at" in body:
                self._ended[address] = body
            return is_cut
        if is_failure(body):
            wait.place.fault = body["error"]
            wait.future.set_exception(RequestFailed(body["error"], body.get("value")))
        else:
            wait.future.set_result(body)
        return True

    def _cut(self, address: str, body: dict[str, Any]) -> bool:
        """Ends what the code waits for in the iteration of a loop that a limit has ended."""
        inside = f"{body['at']}["
        for place in [place for at, place in self._places.items() if at.startswith(inside)]:
            place.is_over = True
            del self._places[place.address]
        doomed = [at for at, wait in self._waits.items() if wait.place.address.startswith(inside)]
        facts = body.get("loop") or {}
        reason = str(facts.get("exit_reason", ""))
        words = f"loop {body['at']!r} has ended: {reason or 'a limit was reached'}"
        error = body.get("error") or error_at(body["at"], "R102", words)
        for at in doomed:
            wait = self._waits.pop(at)
            if not wait.future.done():
                wait.future.set_exception(LimitReached(error, reason, body["at"]))
        return bool(doomed)

    def _expect(self, place: Place, name: str, request: dict[str, Any]) -> Asked:
        address, future = join(place.address, name), self.loop.create_future()
        wait = self._waits[address] = Asked(place, name, request, future)

        def done(future: asyncio.Future[Any]) -> None:
            if future.cancelled() and self._waits.get(address) is wait:
                del self._waits[address]
                place.is_cut = True
                if self.is_active and not place.is_over:
                    self.requests.append({"at": place.address, "name": name, "cancel": True})

        future.add_done_callback(done)
        return wait

    # Beginning again without some answers: what differs from before is put right.

    def _reconcile(
        self, before: dict[str, dict[str, Any]], coming: set[str], lost: set[str]
    ) -> None:
        made, self.requests = self.requests, []
        self._wanted = {join(r["at"], r["name"]) for r in made if "node" in r} | self._waits.keys()
        for request in made:
            if "end" in request:
                self._end_again(request, lost)
            elif "cancel" in request:
                self._take_back(request)
        for wait in self._waits.values():
            self._open(wait.place)
        for address, wait in self._waits.items():
            known = before.get(address)
            is_other = known is not None and not _same(known, wait.request)
            if is_other or (address not in coming and not self._is_alive(wait)):
                self.requests.append(wait.request)
            elif address in lost and not self._is_alive(wait):
                # It may have failed before the code had heard of what began in it.
                at = wait.place.address
                if self._has_failed(at, wait.name):
                    self.requests.append({"at": at, "name": wait.name, "open": address})

    def _end_again(self, request: dict[str, Any], lost: set[str]) -> None:
        """Ends a place once more, if the run has left it with a failure that does not count."""
        place, at = self._left_again.get(request["at"]), request["at"]
        if place is not None and (outer := place.outer) is not None:
            is_lost = join(outer.address, place.name) in lost
            if is_lost and self._has_failed(outer.address, place.name):
                self._open(place)
        is_open = any(r.get("open") == at for r in self.requests)
        if is_open or inner(at, WORD) in self._machine.pending:
            self.requests.append(request)

    def _take_back(self, request: dict[str, Any]) -> None:
        """Takes back what the code does not want any more, if it runs."""
        child = self._child(request["at"], request["name"])
        if child is not None and child[1] is None:
            self.requests.append({"at": request["at"], "name": request["name"], "cancel": True})

    def _open(self, place: Place) -> None:
        """Reopens the iteration, item or part where the code is, if the run had left it."""
        outer = place.outer
        if outer is None or inner(place.address, WORD) in self._machine.pending:
            return
        self._open(outer)
        request = {"at": outer.address, "name": place.name, "open": place.address}
        if request in self.requests:
            return
        if not self._has_failed(outer.address, place.name):
            now = f"something in {place.address!r}, which is over"
            raise CodeChanged(place.address, f"the end of {place.address!r}", now)
        self.requests.append(request)

    def _has_failed(self, at: str, name: str) -> bool:
        child = self._child(at, name)
        return child is not None and is_failure(failed({}, status=child[1] or ""))

    def _is_alive(self, wait: Asked) -> bool:
        child = self._child(wait.place.address, wait.name)
        if child is None:
            return False
        opened = {"at": wait.place.address, "name": wait.name}
        return child[1] is None or any(opened.items() <= r.items() for r in self.requests)

    def _child(self, at: str, name: str) -> tuple[str, str | None] | None:
        """Returns the frame of a requested node, and how it ended."""
        for frame in self._machine.program_frames.values():
            if frame["kind"] == WORD and frame["address"] == at:
                end, child = frame["ends"].get(name), frame["children"].get(name)
                if child is not None:
                    return child, None if end is None else end["status"]
        return None


def refused(fault: UsageError, at: float) -> Event:
    """Returns the event of code that cannot run: the run stays as it is, and says why."""
    words: Json = {"code": fault.code, "message": str(fault)}
    return Event("run.paused", "", at, {"by": "code", "warning": words})


def _zone(log: Log, restart: list[int] | None) -> float:
    """Returns the number of the answer from which on the code may request something else."""
    if restart is None:
        return float("inf")
    # What the code did last, also when it began again with no other answer.
    free = [given for step in log.steps if step.free for given in step.took]
    last = [took[0].number for step in log.steps[-1:] if (took := step.took or free)]
    # What was requested and has no answer any more may be requested otherwise.
    lost = [each for each in _given(log) if each.number in restart]
    gone = {each.address for each in lost if "error" in each.body}
    for step in log.steps if gone else ():
        if step.took and any(_led_to(r, gone) for r in step.requests):
            return min(step.took[0].number, *restart, *last)
    return min([*restart, *last], default=0)


def _led_to(request: dict[str, Any], gone: set[str]) -> bool:
    """Checks whether a request is of a task whose answer is gone, or the failure of what is."""
    if "end" in request:
        return "error" in request["end"] and any(is_at(request["at"], each) for each in gone)
    is_task = "node" in request and request["node"]["is"] == "Task"
    return is_task and join(request["at"], request["name"]) in gone


def _requested(log: Log) -> dict[str, dict[str, Any]]:
    """Returns what was requested, by address; an old request may have other inputs."""
    found: dict[str, dict[str, Any]] = {}
    for step in log.steps:
        for r in (r for r in step.requests if "node" in r):
            found[join(r["at"], r["name"])] = _wordless(r) if step.old else r
    return found


def _given(log: Log) -> Iterator[Given]:
    for step in log.steps:
        yield from step.took
    yield from log.left


def _numbered(wish: str, number: int) -> str:
    return wish if number == 1 else f"{wish}~{number}"


# What was requested, compared with what is requested now.


def _wordless(request: dict[str, Any]) -> dict[str, Any]:
    """Returns a request that may have other inputs now; a loop keeps its limits and its rule."""
    node = request["node"]
    if node["is"] == "Loop":
        node = {name: part for name, part in node.items() if name not in ("limits", "until")}
    return {"at": request["at"], "name": request["name"], "node": node}


def _same(known: dict[str, Any], request: dict[str, Any]) -> bool:
    if "extra" not in known:
        return bool(known["node"] == _wordless(request)["node"])
    return all(known[name] == request.get(name) for name in ("node", "extra"))


def _compare(step: Step, requests: list[dict[str, Any]]) -> None:
    """Raises CodeChanged unless the requests are those that were recorded."""
    kept = [[r for r in each if "warn" not in r] for each in (step.requests, requests)]
    for was, now in _pairs(*kept):
        one, other = was, now
        if step.old and was and now and "node" in was and "node" in now:
            # Old answers stay, whatever words the code has now.
            one, other = _wordless(was), _wordless(now)
        if one != other:
            found: Any = was or now
            address = join(found["at"], found.get("name", ""))
            raise CodeChanged(address, _shown(was, now), _shown(now, was))


def _pairs(was: list[Any], now: list[Any]) -> Iterator[tuple[Any, Any]]:
    for index in range(max(len(was), len(now))):
        yield (*was[index : index + 1], None)[0], (*now[index : index + 1], None)[0]


def _shown(request: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    if request is None:
        return "nothing more"
    if "end" in request:
        return f"the end of {request['at'] or 'the run'!r}"
    what = repr(join(request["at"], request["name"]))
    if "cancel" in request:
        return f"the end of {what}"
    if other is not None and other.get("name") == request["name"] and other["at"] == request["at"]:
        for part in ("node", "extra"):
            if other.get(part) != request.get(part):
                return f"{what} with {_difference(request.get(part), other.get(part))}"
    return what


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        one = {name: value for name, value in one.items() if other.get(name) != value} or "less"
    return str(one)[:_SHOWN_MAX]


def error_of(fault: BaseException | None, address: str) -> dict[str, Any]:
    """Returns the error of an exception that left the code, with its line."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, RequestFailed):
        return fault.error
    words = "cancelled" if fault is None else f"{type(fault).__name__}: {fault}"
    lines = traceback.extract_tb(fault.__traceback__) if fault is not None else []
    own = [line for line in lines if not any(part in line.filename for part in _NOT_OWN)]
    line = f" ({own[-1].filename.rpartition('/')[2]}:{own[-1].lineno})" if own else ""
    return error_at(address, "R140", f"the workflow raised {words}{line}")
