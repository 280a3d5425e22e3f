"""A run driven from a command: its watcher, signals, questions to the user, the final words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces.advice import advice
from whorl.interfaces.cli import options, watchers
from whorl.interfaces.cli.next_command import changed_words
from whorl.interfaces.cli.summary import final_lines, gate_lines, print_outputs
from whorl.interfaces.cli.terminal import echo, is_ours, say, silence
from whorl.interfaces.formatting import age, line
from whorl.interfaces.status_words import EXIT_CODES
from whorl.interpreter.events import Event
from whorl.interpreter.requests import objection
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import check_key, fold
from whorl.runtimes.runtime import raise_objection
from whorl.runtimes.sqlite.faults import DO_AGAIN
from whorl.services.files.preflight import TOY, stand_in
from whorl.services.inspecting import places, results
from whorl.services.runs import find_run, is_running, open_runtime
from whorl.services.steering import asked, check_drivable, check_functions, decided

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence, Set

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


# How long a command waits until another process has taken its request.
PATIENCE_S = 5.0
POLL_S = 0.05
_MORE_ITERATIONS = 3
# What may be answered, by the reason of the question; any other question is a plain gate.
_CHOICES = {
    "iteration": ("accept", "continue with feedback", "later"),
    "limit": ("accept", "continue", "reject", "later"),
}
_USUAL = ("approve", "reject", "feedback", "later")


@dataclass(frozen=True, slots=True)
class Show:
    """How a command shows a run: as JSON, as events, as plain lines or live."""

    as_json: bool = False
    events: str | None = None
    verbose: bool = False
    quiet: bool = False
    # Whether a loop that ended at its limit or budget is a failure.
    strict: bool = False

    @property
    def is_silent(self) -> bool:
        """Returns whether a program reads the output, so that the user is not asked anything."""
        return self.as_json or bool(self.events) or self.quiet

    def check(self, workflow: Workflow) -> None:
        """Refuses a form that cannot show the workflow, before a run of it is created."""
        if self.as_json and self.events:
            raise UsageError("--json and --events exclude each other", help="leave one of them out")
        if self.events == "dialect":
            watchers.translator_of(workflow)

    def watcher(self) -> watchers.NullWatcher:
        if self.events:
            return watchers.DialectEvents() if self.events == "dialect" else watchers.Events()
        if self.quiet or (self.as_json and not self.verbose):
            return watchers.NullWatcher()
        is_able = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        if is_able and not self.verbose:
            from whorl.interfaces.cli.live_view import Live

            return Live()
        return watchers.Lines(verbose=self.verbose)


def show_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of commands that drive a run; the command gets them as `show`."""

    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    @click.option("--events", is_flag=True,
                  help="Print the journal's events, one JSON object a line.")  # fmt: skip
    @click.option("--events-as", type=click.Choice(["journal", "dialect"]), metavar="FORM",
                  help="Events with the names of the file's format.")  # fmt: skip
    @click.option("--verbose", "-v", is_flag=True, help="Show every step, not only iterations.")
    @click.option("--quiet", "-q", is_flag=True, help="Print the result alone, and errors.")
    @click.option("--strict", is_flag=True,
                  help="Exit with 1 if a loop ended at its limit or budget.")  # fmt: skip
    @wraps(command)
    def with_show(*, events: bool, events_as: str | None, quiet: bool, **given: Any) -> int:
        form = events_as or ("journal" if events else None)
        as_json, verbose, strict = map(given.pop, ("as_json", "verbose", "strict"))
        with silence() if quiet else nullcontext():
            return command(show=Show(as_json, form, verbose, quiet, strict), **given)

    return with_show


@contextmanager
def objections(run: str) -> Iterator[None]:
    """Adds code W905 and advice to the error if a run refuses a request."""
    try:
        yield
    except UsageError as fault:
        if fault.code != "W900":
            raise
        words = fault.help or advice("W905", fault.facts, run)
        raise UsageError(str(fault), help=words, code="W905") from fault


def meant_run(store: SqliteStore, text: str) -> RunId:
    """Returns the run that a command will change; prints which one unless its id was given."""
    run = find_run(store, text)
    if run != text:
        row = store.run(run)
        say(f"run {run} ({line(row.name, 60)}, {age(time.time() - row.updated_at)} ago)")
    return run


def on_run(
    work: Callable[..., Awaitable[int]],
    argument: Callable[[Callable[..., int]], Callable[..., int]] = options.run_argument,
    *,
    drives: bool = True,
) -> Callable[..., int]:
    """Makes a command on RUN or RUN/ADDRESS that shows the run; `drives` is false to watch."""

    @wraps(work)
    def command(project: Project, *, run: str, show: Show, **given: Any) -> int:
        if "at" in given:
            run, given["at"] = places.split_place(run, given["at"])
        if drives and not show.is_silent:
            options.ask_for_trust(project)

        async def steer() -> int:
            async with run_session(project, show, creates=False) as session:
                meant = (meant_run if drives else find_run)(session.store, run)
                return await work(session, meant, **given)

        return asyncio.run(steer())

    return argument(show_options(options.located(command, drives=drives)))


@dataclass(slots=True)
class RunSession:
    """A runtime with a watcher."""

    project: Project
    runtime: Runtime
    store: SqliteStore
    providers: Providers
    watcher: watchers.NullWatcher
    show: Show
    # The command, where the next one depends on it.
    asked: str = ""
    was_stopped: bool = False
    report: Callable[[object], None] = options.print_json
    loaded: Sequence[Any] = ()
    """Warnings of the file, which are no part of the run."""
    decide: Callable[[str], dict[str, Json] | None] = lambda address: None
    """What mocks answer at a gate in the place of the person."""
    _asking: asyncio.Task[bool] | None = None

    async def drive(self, run: RunId, requests: Sequence[Event] = ()) -> int:
        """Drives a run until it ends, pauses or asks; shows it and returns the exit code."""
        await self._drive(run, requests)
        return await self.settle(run)

    async def take_up(self, run: RunId) -> int:
        """Resumes a run that was interrupted; if another process was faster, watches it."""
        self._say_changed(run)
        try:
            return await self.drive(run)
        except StoreError as fault:
            if fault.code != "R902":
                raise
        say(str(is_running(run)))
        return await self.follow(run)

    async def follow(self, run: RunId, *, from_start: bool = False) -> int:
        """Shows a run that another process drives, until it ends."""
        return await self.settle(run) if await self._follow(run, from_start=from_start) else 0

    async def steer(self, run: RunId, event: Event, words: str) -> int:
        """Says the `words`, sends a request to a run and shows it; returns the exit code."""
        if self.store.run(run).status != "running":
            check_key(self.store, run)
            with objections(run):
                raise_objection(objection(fold(self.store, run).machine, event))
        say(f"run {run}: {words}")
        self._say_changed(run)
        return await self.settle(run) if await self._carry_out(run, event) else 0

    def _say_changed(self, run: RunId) -> None:
        if words := changed_words(self.store, run):
            say(options.carrying(safe(words)))

    def say_toy(self, workflow: Workflow) -> None:
        """Says that no real model answers: the run may have begun with another configuration."""
        if stand_in(workflow, self.providers.settings) == TOY:
            say(f"{TOY}; if the run began with another configuration, name it with --config")

    async def settle(self, run: RunId) -> int:
        """Asks the user what the run waits for, prints the result and returns the exit code."""
        is_attended = not self.show.is_silent and is_ours(sys.stdin, sys.stderr)
        shown, later = set[str](), set[str]()
        while (is_attended or self.providers.is_mocked) and not self.was_stopped:
            result: dict[str, Any] = results.full_result(self.store, run)
            if result["status"] == "running":
                if not await self._follow(run):
                    return 0
                continue
            gates = [gate for gate in result["waiting_for"] if gate["address"] not in later]
            if result["status"] != "waiting" or not gates:
                break
            if (decision := self.decide(gates[0]["address"])) is not None:
                answer = asked("gate.decided", decision, gates[0]["address"])
                if not await self._carry_out(run, answer):
                    return 0
                continue
            if not is_attended:
                break
            shown.add(gates[0]["address"])
            try:
                event = ask(self.store, run, gates[0])
                if event is None:
                    later.add(gates[0]["address"])
                elif not await self._carry_out(run, event):
                    return 0
            except click.Abort:
                say("")
                break
            except UsageError as fault:
                say(f"error[{fault.code}]: {safe(str(fault))}")
        return self.finish(run, shown)

    def finish(self, run: RunId, shown: Set[str] = frozenset()) -> int:
        """Prints the result of a run, without questions in `shown`; returns the exit code."""
        result = options.with_help(results.full_result(self.store, run))
        status = str(result["status"])
        if self.show.as_json:
            self.report({**result, "warnings": [*self.loaded, *result["warnings"]]})
        else:
            if status == "succeeded" and not self.show.events:
                print_outputs(result["outputs"])
            lines = final_lines(self.store, run, result, self.asked, shown)
            for words in lines if status != "succeeded" else ():
                echo(words, err=True)
            say(*lines)
        is_short = self.show.strict and bool(self.store.run(run).mark)
        return EXIT_CODES.get(status, 1) or int(is_short)

    async def _carry_out(self, run: RunId, event: Event) -> bool:
        """Sends a request to a run and shows it; returns False if the user left it."""
        before = self.store.run(run).last_seq
        with objections(run):
            is_driven = await self.runtime.request(run, event)
        # An owner that gave it up before the request came left it to the next one.
        if not (is_driven and await self._taken(run, before)) and await self._is_driven(
            self._drive(run, () if is_driven else [event]), run, event
        ):
            return True
        say(f"run {run} is driven by another process, which carries out the request")
        return await self._follow(run)

    async def send(self, run: RunId, event: Event) -> str:
        """Sends a request that ends or pauses a run; returns the run's state soon after it."""
        with objections(run):
            if not await self.runtime.request(run, event):
                await self._is_driven(self.runtime.drive(run, [event]), run, event)
        deadline = time.monotonic() + PATIENCE_S
        while (row := self.store.run(run)).status == "running" and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)
        return row.status

    async def _is_driven(self, driving: Awaitable[object], run: RunId, event: Event) -> bool:
        """Drives a run; returns False if a server that took it up in between has the request."""
        try:
            await driving
        except StoreError as fault:
            if fault.code != "R902" or not await self.runtime.request(run, event):
                raise
            return False
        return True

    async def _taken(self, run: RunId, before: int) -> bool:
        """Waits until the owner has journaled something; returns False if it released the run."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            row = self.store.run(run)
            if row.last_seq > before:
                return True
            if row.status != "running" and not self.store.is_owned(run):
                return False
            await asyncio.sleep(POLL_S)
        return True

    async def _drive(self, run: RunId, requests: Sequence[Event]) -> None:
        if not self.providers.is_mocked:
            check_functions(self.store, self.providers, run)
        if self.store.run(run).last_seq > 1 and not self.providers.is_mocked:
            # One that has just begun was checked before.
            with objections(run):
                check_drivable(self.store, self.providers, run, requests)
        self.watcher.offer({"p": ("pause", lambda: self._pause(run))})
        with self._watched(run):
            if self.show.events == "journal" and self.store.run(run).last_seq == 1:
                self.watcher.entries(run, list(self.store.read(run)))
            try:
                with self.leaving_on_signals(), objections(run):
                    await self.runtime.drive(run, requests)
            except StoreError as fault:
                # To repeat the command would start another run.
                fault.help = fault.help.replace(DO_AGAIN, f"then `whorl resume {run}`")
                raise

    async def _follow(self, run: RunId, *, from_start: bool = False) -> bool:
        """Shows a run until no process drives it; returns False if the user left it before."""

        async def watch(after: int) -> None:
            async for entry in self.runtime.follow(run, after):
                self.watcher.entries(run, [entry])

        try:
            with self._watched(run) as known:
                following = asyncio.create_task(watch(0 if from_start else known))
                self.watcher.offer({"q": ("stop watching", following.cancel)})
                await following
        except asyncio.CancelledError:
            say(f"run {run} continues", f"next: {options.pasted('watch', run)}")
            return False
        return True

    @contextmanager
    def _watched(self, run: RunId) -> Iterator[int]:
        """Begins and ends the watcher with the run's state; yields the last entry it knows."""
        plan, progress = self.runtime.plan(run), watchers.past_of(self.store, run)
        self.watcher.begin(progress, plan.workflow)
        try:
            yield progress.last_seq
        finally:
            row = self.store.run(run)
            is_left = self.was_stopped and row.status == "running"
            self.watcher.end("interrupted" if is_left else row.status, row.mark)

    def _pause(self, run: RunId) -> None:
        event = Event("run.paused", "", time.time(), {"by": "person"})
        self._asking = asyncio.create_task(self.runtime.request(run, event))

    @contextmanager
    def leaving_on_signals(self) -> Iterator[None]:
        """The first signal lets running calls end, the second cuts them off, the third kills."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def leave(number: int, frame: object) -> None:
            for each in signals:
                signal.signal(each, cut)
            self.was_stopped = True
            loop.call_soon_threadsafe(self._drain, number == signal.SIGINT)

        def cut(number: int, frame: object) -> None:
            for each in signals:
                signal.signal(each, die)
            loop.call_soon_threadsafe(self.runtime.stop)

        def die(number: int, frame: object) -> None:
            self.watcher.release()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        before = {number: signal.signal(number, leave) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                # Functions in threads may hold the process up after it was told to leave.
                signal.signal(number, signal.SIG_DFL if self.was_stopped else handler)

    def _drain(self, by_person: bool) -> None:
        calls, seconds = self.runtime.drain(by_person=by_person), self.providers.settings.drain_s
        asyncio.get_running_loop().call_later(seconds, self.runtime.stop)
        if calls:
            waits = f"{plural(calls, 'open call')} may finish within {seconds:g} s"
            self.watcher.leave(f"stopping: {waits}; Ctrl-C again stops at once")


@asynccontextmanager
async def run_session(
    project: Project,
    show: Show,
    *,
    providers: Providers | None = None,
    creates: bool = True,
    origin: str = "terminal",
) -> AsyncIterator[RunSession]:
    """Opens a session on the project's store, which must exist unless the command `creates` one."""
    from whorl.providers.registry import Providers

    if not creates:
        project.open_store().close()
    providers = providers or Providers(project.settings())
    watcher = show.watcher()
    async with open_runtime(project, providers, origin=origin, watcher=watcher) as runtime:
        yield RunSession(project, runtime, runtime.store, providers, watcher, show)


def ask(store: SqliteStore, run: RunId, gate: dict[str, Any]) -> Event | None:
    """Asks the user a question of a run; None: later. Raises click.Abort after Ctrl-C or Ctrl-D."""
    import termios

    # Text that was typed before the question was shown is not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    say(*gate_lines(gate))
    # That of the event loop would wait for the line.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _answer(store, run, gate["address"], gate["reason"])
    finally:
        signal.signal(signal.SIGINT, before)


def _answer(store: SqliteStore, run: RunId, address: str, reason: str) -> Event | None:
    choices, place = list(_CHOICES.get(reason, _USUAL)), address.partition("/:")[0]
    limit = results.loop_frame(fold(store, run).machine, place).get("limit_reason")
    if reason == "limit" and limit != "max_iterations":
        # `whorl continue` gives more time or money.
        choices.remove("continue")
    chosen, feedback = _choice(choices), ""
    if chosen == "later":
        return None
    if chosen == "continue":
        return asked("run.continued", {"at": place, "iterations": _MORE_ITERATIONS})
    if chosen == "feedback":
        while not feedback:
            feedback = _line("your words")
        chosen = _choice(["approve", "reject", "later"])
        if chosen == "later":
            return None
    is_yes = chosen in ("approve", "accept")
    if not is_yes and not feedback:
        feedback = _line("your words (Enter for none)")
    return decided(store, run, address, approved=is_yes, feedback=feedback)


def _choice(choices: Sequence[str]) -> str:
    words = "  ".join(f"[{choice[0]}]{choice[1:]}" for choice in choices)
    while True:
        typed = _line(words).lower()
        for choice in choices:
            if typed and choice.startswith(typed):
                return choice


def _line(words: str) -> str:
    typed: str = click.prompt(words, default="", show_default=False, err=True)
    return typed.strip()
