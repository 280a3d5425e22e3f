"""Turns the outputs of tasks into journal entries, with the secrets in them encrypted.

The visible fields of an entry have no secrets, so that any reader can show them. The values that
only the machine needs are in the field `sealed`, encrypted for this run and place. Folding a run
puts them back. Notes are never fed to the machine, so nothing in them is sealed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.errors import ProviderError
from whorl.interpreter.constructs.run import InputError, check_inputs, secret_values
from whorl.interpreter.events import FED_KINDS, Event, Perform, charged
from whorl.language.chunked_json import is_large, write_pieces
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.redaction import HIDDEN, Redaction
from whorl.providers.task import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.keys import Seals


# What tasks give, made fit for the journal before anything is done with it.
#
# The machine and the journal have to hold the same value, or a run that is replayed is another one.
# The entry of a secure task is marked and keeps all that the machine needs to go on; interfaces
# show of it what is harmless. The message of a fault goes into other entries, so only its kind is
# kept.

REPLY_MAX: Final = 48_000_000
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False).encode
MARK: Final = "secure"
# Where a task called, which is made of what it was given.
_PLACES: Final = frozenset({"url", "host", "port", "address", "place"})
# What the other side gave, where a task failed, and what the machine goes by.
_GIVEN_NAMES: Final = """status headers body type usage unsent exit_code stdout stderr finish
    partial characters model provider agent"""
_GIVEN: Final = frozenset(_GIVEN_NAMES.split())
# An input of calls that are secure only for how they are authenticated, which no message quotes.
_ONLY_AUTH: Final = "secure_auth"
_UNFIT: Final = "P105"
# The message of this one is made of names that the operator gave, and of nothing of the task.
_OUR_WORDS: Final = frozenset({"P122"})
_CUT: Final = "P118"
# The machine knows by these words that a budget has cut an answer.
_BY_BUDGET: Final = "raise the budget"
_IS_HIDDEN: Final = "its message is hidden, since it is secure"


def finished_body(
    perform: Perform, reply: object, redacted: Callable[[Json], Json]
) -> dict[str, Json]:
    """Returns the entry of an answer; raises ProviderError if the answer is invalid."""
    if not isinstance(reply, Reply):  # plugins may give anything
        kind = type(reply).__name__
        raise ProviderError(f"the task gave a {kind!r} instead of a Reply", code="P105")
    hidden = _PLACES if _has_secure_inputs(perform) else frozenset()
    given = {name: fact for name, fact in reply.detail.items() if name not in hidden}
    given["value"] = reply.value
    given |= _without_model(perform, given)
    body = cast("dict[str, Json]", redacted(fit(given)))
    if reply.usage.calls:
        body["usage"] = asdict(reply.usage)
    return body | {MARK: True} if perform.secure_outputs else body


def failed_body(
    perform: Perform,
    fault: ProviderError,
    reserve: dict[str, Json],
    redacted: Callable[[Json], Json],
    *,
    is_priced: bool = False,
) -> dict[str, Json]:
    """Returns the entry of a failure; `reserve` is the amount reserved for the call."""
    detail: dict[str, Json] = dict(fault.detail)  # type: ignore[arg-type]
    value = detail.pop("value", None)
    message = str(fault)
    if perform.secure_outputs:
        message = _kind_of_fault(fault.code, message, detail)
        detail[MARK] = True
    elif _has_secure_inputs(perform):
        message = _kind_of_fault(fault.code, message, detail)
        if fault.code != _UNFIT or "answer" not in detail:
            detail = {name: fact for name, fact in detail.items() if name in _GIVEN}
    detail |= _without_model(perform, detail)
    error: dict[str, Json] = {
        "code": fault.code,
        "message": message,
        "retryable": fault.retryable,
        "retry_after_s": fault.retry_after_s,
        "detail": detail,
    }
    if not fault.answered:
        error["answered"] = False
    given: dict[str, Json] = {"error": error} if value is None else {"error": error, "value": value}
    try:
        body = cast("dict[str, Json]", redacted(fit(given)))
    except ProviderError as cause:
        error["detail"] = {"lost": str(cause)}
        body = cast("dict[str, Json]", redacted({"error": error}))
    if used := _usage_of_failure(fault, reserve, is_priced=is_priced):
        body["usage"] = used
    return body | {MARK: True} if perform.secure_outputs else body


def fit(fields: Mapping[str, Any]) -> dict[str, Json]:
    """Returns the fields as JSON; raises ProviderError if they are not JSON."""
    # A text that is too long anyway is not mended first, which takes long.
    is_long = False
    for text in fields.values():
        is_long |= isinstance(text, str) and len(text) > REPLY_MAX
    try:
        parts = {} if is_long else fields
        body = {name: as_json(value, f"$.{name}") for name, value in parts.items()}
    except NotJson as cause:
        words = f"the task gave a value that is not JSON: {cause}"
        raise ProviderError(words, code="P105") from None
    if is_long or (is_large(body) and sum(map(len, write_pieces(body, _ENCODE))) > REPLY_MAX):
        raise ProviderError(
            f"the task gave more than {REPLY_MAX:,} characters; let it give less, or the place of"
            " the rest",
            code="P106",
        )
    return body


def _usage_of_failure(
    fault: ProviderError, reserve: dict[str, Json], *, is_priced: bool
) -> dict[str, Json]:
    """Returns the usage of a failed call: the provider's, or if it is unknown, the reserve.

    A call that was not sent has no usage.
    """
    usage: Any = fault.detail.get("usage")
    if isinstance(usage, dict):
        return usage | {"in_doubt": 1} if fault.is_doubtful and usage.get("calls") else usage
    if fault.is_doubtful and reserve:
        return {**charged(reserve)}
    if fault.detail.get("unsent") or not reserve.get("calls"):
        return {}
    return {"calls": reserve["calls"], "cost_usd": None if is_priced else 0.0}


def _without_model(perform: Perform, given: Mapping[str, Json]) -> dict[str, Json]:
    names = ("model", "provider") if perform.secure_model else ()
    return {name: HIDDEN for name in names if name in given}


def _has_secure_inputs(perform: Perform) -> bool:
    """Returns whether inputs are secure other than the authentication."""
    return perform.secure and perform.inputs.get(_ONLY_AUTH) is not True


def _kind_of_fault(code: str, message: str, detail: Mapping[str, object]) -> str:
    """Returns a message for the error of a secure task, without its inputs and outputs."""
    # One that is played from a recording has no other message any more.
    if code in _OUR_WORDS or (detail.get(MARK) is True and message.endswith(_IS_HIDDEN)):
        return message
    status, exit_code = detail.get("status"), detail.get("exit_code")
    kind = f"it failed, see `whorl help {code}`"
    if isinstance(status, int):
        kind = f"it gave status {status}"
    elif code == "P109" and isinstance(exit_code, int):
        kind = f"the command ended with code {exit_code}"
    if code == _CUT and _BY_BUDGET in message:
        kind += f", or {_BY_BUDGET}"
    return f"{kind}; {_IS_HIDDEN}"


SEALED: Final = "sealed"
# What is shown of a secure task, and of the details of its failure.
_KEPT_OF_TASKS: Final = (
    *(MARK, "usage", "model", "provider", "status", "error"),
    # Which model answered, how it ended, and which tools it was told of, by hashes of their words.
    *("finish", "toy_model", "tools", "tool", "pin"),
)
_KEPT: Final = ("status", "type", MARK)
# Fields whose words and amounts are the engine's own, so that a secret of the same text is not
# meant; an error is an object of such fields itself.
_WORDS: Final = """run seed source at kind status code path reason exit_reason cause branch scope
    limit of by met number iteration iterations not_begun best_iteration returned_iteration
    failed_iterations seconds score usage limits run_limits reserve cap at_worst due workflow
    request mark pauses approved finish retryable answered retry_after_s secure
    behaviour step cpu_s"""
_OBJECTS: Final = frozenset({"error", "cause", "remember"})
# Names of which a short secret is not meant by a part of one.
_MODELS: Final = frozenset({"model", "provider"})
# Values by names that the workflow has given them.
_NAMES: Final = "input inputs outputs set results collected carry previous person accepted values"
# What frames of the machine hold of a run's values.
_FRAME: Final = """input inputs extra echo items results failures kept later turn repair carry past
    previous all history collected person fault failure texts texts_before judged accepted
    accepted_collected unsubscribe"""
_OWN_WORDS: Final = frozenset(_WORDS.split())
_NAMED: Final = frozenset(_NAMES.split())
_VALUES_OF_FRAMES: Final = frozenset(_FRAME.split())


def secrets_of(workflow: Workflow, given: dict[str, Json]) -> list[Json]:
    """Returns the secret values among a run's inputs, also if the inputs will be refused."""
    if not any(port.secret for port in workflow.inputs):
        return []
    try:
        return secret_values(workflow, check_inputs(workflow, given))
    except InputError:
        return secret_values(workflow, given)


def redaction_of(secrets: Iterable[Json]) -> Redaction | None:
    secrets = tuple(secrets)
    return Redaction(secrets) if secrets else None


def shown(event: Event) -> dict[str, Json]:
    """Returns the visible fields of an entry, without sealed values and secure outputs."""
    body = event.body
    if SEALED in body:
        body = {name: value for name, value in body.items() if name != SEALED}
    if body.get(MARK) is True:
        if event.kind in ("task.finished", "task.failed"):
            body = {name: body[name] for name in _KEPT_OF_TASKS if name in body}
        if event.kind != "task.failed":
            body = body | {"value": HIDDEN}
    error: Any = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    if isinstance(detail, dict) and detail.get(MARK) is True:
        kept = {name: detail[name] for name in _KEPT if name in detail}
        body = body | {"error": error | {"detail": kept}}
        if "value" in body:
            body = body | {"value": HIDDEN}
    return body


def sealed(
    event: Event,
    run: str,
    seals: Seals,
    redaction: Redaction | None = None,
    *,
    workflow: Workflow | None = None,
) -> Event:
    """Returns the entry to write; `workflow` is given if its inputs are in the event."""
    clear = shown(event)
    if workflow is not None:
        clear = _without_inputs(clear, workflow)
    if redaction is not None:
        clear = redacted(clear, redaction)
    if clear is event.body:
        return event
    if event.kind in FED_KINDS and event.kind != "task.started":
        hidden = {n: v for n, v in event.body.items() if n not in clear or clear[n] != v}
        hidden.pop(SEALED, None)
        if hidden:
            place = (run, event.kind, event.address)
            clear = clear | {SEALED: seals.seal(json.dumps(hidden), *place)}
    return Event(event.kind, event.address, event.at, clear)


def opened(event: Event, run: str, seals: Seals | None) -> Event:
    """Returns the original event; without seals, the redacted one. Raises StoreError R909."""
    text = event.body.get(SEALED)
    if not isinstance(text, str):
        return event
    body = {name: value for name, value in event.body.items() if name != SEALED}
    if seals is not None:
        body |= json.loads(seals.open(text, run, event.kind, event.address))
    return Event(event.kind, event.address, event.at, body)


def sealed_state(state: str, run: str, seq: int, seals: Seals) -> Json:
    """Encrypts a machine's whole state for a snapshot, since any part may contain a secret."""
    return {SEALED: seals.seal(state, run, "snapshot", str(seq))}


def opened_state(stored: tuple[int, Json], run: str, seals: Seals | None) -> str | None:
    """Returns the state in a snapshot, or None if it is sealed and there are no seals."""
    seq, state = stored
    if not isinstance(state, dict):
        return str(state)
    return None if seals is None else seals.open(str(state[SEALED]), run, "snapshot", str(seq))


class RunSealing:
    """Prepares a driven run's entries for writing; `redacted` removes the operator's secrets."""

    def __init__(
        self, run: str, machine: Machine, seals: Seals, redacted: Callable[[Json], Json]
    ) -> None:
        self._run = run
        self._machine = machine
        self._seals = seals
        self._redacted = redacted
        self._redaction: Redaction | None = None
        self._secrets_known = 0

    def redaction(self) -> Redaction | None:
        """Returns the redaction of the run's secrets; a called workflow may add secrets."""
        secrets = self._machine.state.get("secrets", ())
        if len(secrets) != self._secrets_known:
            self._secrets_known, self._redaction = len(secrets), redaction_of(secrets)
        return self._redaction

    def entry(self, event: Event) -> Event:
        """Returns the entry of an event. The machine was fed without the operator's secrets."""
        if event.kind not in FED_KINDS:
            body = cast("dict[str, Json]", self._redacted(event.body))
            if body is not event.body:
                event = Event(event.kind, event.address, event.at, body)
        if not self._machine.plan.is_confidential:
            return event
        return sealed(event, self._run, self._seals, self.redaction())

    def state(self, seq: int, *, in_pieces: bool) -> tuple[int, Json]:
        """Returns the size of the state after an entry, and the state to store."""
        state = self._machine.snapshot(in_pieces=in_pieces)
        if not self._machine.plan.is_confidential:
            return len(state), state
        return len(state), sealed_state(state, self._run, seq, self._seals)


def redacted(body: Mapping[str, Json], redaction: Redaction) -> dict[str, Json]:
    """Returns the fields of an entry without secrets."""
    clear: dict[str, Json] = {}
    for name, value in body.items():
        if name in _OBJECTS and isinstance(value, dict):
            clear[name] = redacted(value, redaction)
        elif name in _NAMED and isinstance(value, dict):
            clear[name] = {key: redaction.value(part) for key, part in value.items()}
        elif name in _MODELS and isinstance(value, str):
            clear[name] = redaction.name(value)
        else:
            # Code may end a loop with words of its own.
            is_ours = name in _OWN_WORDS and not (name == "by" and str(value).startswith("stop: "))
            clear[name] = value if is_ours else redaction.value(value)
    return clear


def hide(machine: Machine) -> None:
    """Redacts the visible values of a machine, which cannot be driven afterwards."""
    redaction = redaction_of(machine.state.get("secrets", ()))
    if redaction is None:
        return
    state: Any = machine.state
    state["result"] = state["result"] and redacted(state["result"], redaction)
    for scope in state["scopes"].values():
        scope |= redacted({"values": scope["values"]}, redaction)
    for frame in state["frames"].values():
        frame |= redacted({n: frame[n] for n in _VALUES_OF_FRAMES.intersection(frame)}, redaction)
        for name in ("first", "best"):
            if name in frame:
                frame[name] = redacted(frame[name], redaction)


def shown_sources(sources: dict[str, str], redaction: Redaction | None) -> dict[str, str]:
    """Returns the source files of a run without the secrets in them."""
    if redaction is None:
        return sources
    return {name: str(redaction.value(text)) for name, text in sources.items()}


def masked(value: Json, number: Json = HIDDEN) -> Json:
    """Returns a value of the same shape with its texts and numbers hidden."""
    if isinstance(value, dict):
        return {name: masked(part, number) for name, part in value.items()}
    if isinstance(value, list):
        return [masked(part, number) for part in value]
    if isinstance(value, str):
        return HIDDEN
    return value if value is None or isinstance(value, bool) else number


def without_defaults(
    workflow: Workflow, given: dict[str, Json]
) -> tuple[Workflow, dict[str, Json]]:
    """Returns a workflow without default values of secrets; the run gets them as inputs."""
    filled = {port.name: port.default for port in workflow.inputs if port.secret}
    filled = {name: value for name, value in filled.items() if value is not None}
    if not filled:
        return workflow, given
    ports = tuple(
        replace(port, default=None, required=False) if port.name in filled else port
        for port in workflow.inputs
    )
    return replace(workflow, inputs=ports), filled | given


def _without_inputs(body: dict[str, Json], workflow: Workflow) -> dict[str, Json]:
    """Hides secret inputs at their places, under any of their names."""
    names = {name for port in workflow.inputs if port.secret for name in (port.name, *port.aliases)}
    clear = dict(body)
    for field in ("input", "set"):
        given = body.get(field)
        if isinstance(given, dict) and not names.isdisjoint(given):
            clear[field] = {
                name: HIDDEN if name in names and value is not None else value
                for name, value in given.items()
            }
    return clear if clear != body else body
