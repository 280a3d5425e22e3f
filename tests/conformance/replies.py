"""Scripted workers: they reply by the address of a call, so that a crash changes no reply.

In a `replies` block a key is a node's name, a whole address (`polish[2]/review`; `*` stands for
anything), or `judge`. Its value is a list of replies in the order in which the calls are made in
a run without crashes, a text with commas in place of such a list, or one reply for all calls:

    text or number                            the value
    {json: ...}                               the value
    {error: P103, retryable: true, times: 2}  a fault, twice
    {error: P101, answered: false}            a fault of a call that the other side did not answer
    {..., delay: 5s}                          the reply takes that long
    {..., held: 5s}                           limits of the provider hold the call back that long
    {..., later: {after_s: 5, inputs: {}}}    the answer comes later: it is asked for again
    {..., awaits_call: true}    the answer comes as a call of an address that was given away
    {..., subscribed: true}     the address must be taken back when nobody waits for that call
    {..., warnings: [{code: P118, message: m}]}  what people should know of the reply
    {..., usage: {cost_usd: 0.5}}             what the call used; usually 1 call, 10 and 5 tokens,
                                              and a cent; of a call without a price, nothing

`estimate` says what calls are expected to use; usually what they use. Its `at_worst` is the cost
of a call whose server does not keep to the limit of an answer. Which call gets which reply
is settled once, by the first run; later runs of the same script go by the addresses.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError
from whorl.interpreter.events import unescape
from whorl.ir.values import parse_duration
from whorl.providers.asking import judged_value
from whorl.providers.models.conversation import typed_answer
from whorl.providers.registry import kinds
from whorl.providers.task import Estimate, MaxUsage, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, OwnTask, Request


_USAGE = {"calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01}
# Functions of a case compute only, so that their calls may be repeated.
_OWN_EFFECTS: dict[str, Effect] = {"use": "none"}
_DETAILS = ("session", "later", "awaits_call", "subscribed", "warnings")
_ATTEMPT = re.compile(r"#[0-9]+$")


class Script:
    """What all tasks of a case reply. It outlives crashes, as the world outside does."""

    def __init__(self, replies: dict[str, Any] | None) -> None:
        told = dict(replies or {})
        self.estimate: dict[str, float] = told.pop("estimate", {})
        self._rules = {str(key): _listed(value) for key, value in told.items()}
        self._used: Counter[str] = Counter()
        self._settled: dict[str, Any] = {}
        self.problems: list[str] = []
        self.performed: Counter[str] = Counter()
        self.repeatable: set[str] = set()
        self.inputs: dict[str, dict[str, Json]] = {}
        self.sent: list[tuple[Any, ...]] = []
        self.sessions: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.on_perform: Callable[[str], None] = lambda address: None
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def forget_calls(self) -> None:
        """Begins another run: what was performed is forgotten, what is settled stays."""
        self.performed.clear()
        self.inputs.clear()
        self.problems.clear()

    def reply_to(self, address: str) -> Any:
        """The reply that the call at this address gets, now and after any crash."""
        if address not in self._settled:
            key = self._rule_for(address)
            if key is None:
                self.problems.append(f"no reply is written for {address!r}")
                return {"error": "P112", "message": "no reply"}
            replies, repeats = self._rules[key]
            index = self._used[key]
            if index >= len(replies) and not repeats:
                self.problems.append(f"the replies of {key!r} are used up at {address!r}")
                return {"error": "P112", "message": "no reply left"}
            self._used[key] += 1
            self._settled[address] = replies[min(index, len(replies) - 1)]
        return self._settled[address]

    def _rule_for(self, address: str) -> str | None:
        base = _ATTEMPT.sub("", address)
        for written in (address, base):
            for key in self._rules:
                if re.fullmatch(re.escape(key).replace(r"\*", "[^/]*"), written):
                    return key
        last = base.rpartition("/")[2]
        name = "judge" if last.startswith(":judge") else unescape(last)
        return name if name in self._rules else None


class ScriptedWorkers:
    """Implements `Workers` with a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def kind(self, name: str) -> Any:
        """The kind of task of a name."""
        return ScriptedKind(self._script, effect_of(name), calls_of(name))

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """What a task does to the world."""
        return effect_of(name)

    def redacted(self, value: Json) -> Json:
        """There are no secrets here."""
        return value


def effect_of(name: str) -> Effect:
    """What the real task of a name does to the world."""
    return _OWN_EFFECTS.get(name) or _real(name).effect


def calls_of(name: str) -> int:
    """How many calls one of the real task counts as while it is not known what came of it."""
    return 0 if effect_of(name) == "none" else _real(name).calls


@cache
def _real(name: str) -> type[OwnTask]:
    module, _, kind = kinds()[name].partition(":")
    found: type[OwnTask] = getattr(import_module(module), kind)
    return found


class ScriptedKind:
    """A kind of task whose replies are written down."""

    def __init__(self, script: Script, effect: Effect, calls: int) -> None:
        self._script = script
        self.effect = effect
        self._calls = calls

    def estimate(self, request: Request) -> Estimate:
        """What the script expects calls to use."""
        if self.effect != "priced":
            return Estimate(self._calls)
        told = self._script.estimate
        tokens = int(told.get("tokens", _USAGE["input_tokens"] + _USAGE["output_tokens"]))
        worst = MaxUsage(tokens, told["at_worst"]) if "at_worst" in told else None
        return Estimate(1, tokens, told.get("cost_usd", _USAGE["cost_usd"]), at_worst=worst)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Replies as it is written."""
        script = self._script
        script.performed[request.address] += 1
        if self.effect == "none":
            script.repeatable.add(request.address)
        script.inputs[request.address] = request.inputs
        script.sent.append(seen_of(request))
        script.sessions[request.address] = request.session
        script.keys[request.address] = request.key.removeprefix(f"{request.run}:")
        reply = script.reply_to(request.address)
        told = reply if isinstance(reply, dict) else {"json": reply}
        script.on_perform(request.address)
        if "held" in told:
            request.held(True)
            await script.sleep(parse_duration(told["held"]))
            request.held(False)
        if "delay" in told:
            await script.sleep(parse_duration(told["delay"]))
        usage = self._usage(told)
        if "error" in told:
            raise _fault(told, usage)
        return Reply(_value(request, told, usage), usage, _detail(told))

    def _usage(self, told: dict[str, Any]) -> Usage:
        if self.effect != "priced":
            return Usage()
        return Usage(**(_USAGE | told.get("usage", {})))


def seen_of(request: Request) -> tuple[Any, ...]:
    """All that a provider sees of a call."""
    told = (request.address, request.kind, json.dumps(request.inputs), request.attempt)
    more = (request.key, request.timeout_s, json.dumps(request.returns), request.session)
    return (*told, *more, json.dumps(request.repair), request.cap)


def _listed(value: Any) -> tuple[list[Any], bool]:
    """The replies in order, and whether the last one is repeated for ever."""
    if isinstance(value, str) and "," in value and "\n" not in value:
        return [_scalar(part.strip()) for part in value.split(",")], False
    if not isinstance(value, list):
        return [value], True
    replies: list[Any] = []
    for item in value:
        times = item.get("times", 1) if isinstance(item, dict) else 1
        replies.extend([item] * times)
    return replies, False


def _scalar(text: str) -> Any:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _fault(told: dict[str, Any], usage: Usage) -> ProviderError:
    detail: dict[str, object] = {}
    if "status" in told:
        detail["status"] = told["status"]
    if "usage" in told:
        detail["usage"] = _USAGE | told["usage"]
    return ProviderError(
        str(told.get("message", "it went wrong")),
        code=str(told["error"]),
        retryable=bool(told.get("retryable", False)),
        retry_after_s=told.get("retry_after"),
        detail=detail,
        answered=told.get("answered"),
    )


def _value(request: Request, told: dict[str, Any], usage: Usage) -> Json:
    said: Json = told["json"] if "json" in told else told.get("text", "")
    if request.kind == "judge":
        return said if isinstance(said, dict) else judged_value(request.inputs, str(said))
    if request.returns is None:
        return said
    text = said if isinstance(said, str) else json.dumps(said)
    value, faults = typed_answer(request.returns, text)
    if faults:
        used = {name: getattr(usage, name) for name in _USAGE}
        detail: dict[str, object] = {"answer": text, "errors": faults, "usage": used}
        raise ProviderError("; ".join(faults), code="P105", detail=detail)
    return value


def _detail(told: dict[str, Any]) -> dict[str, Json]:
    return {name: told[name] for name in _DETAILS if name in told}
