"""What a server asks of other systems for a trigger: whether there is news, or to be told of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from whorl.errors import ProviderError, StoreError
from whorl.language import MappingScope
from whorl.providers.task import Request
from whorl.services.serving.triggers import Call, computed, inputs_of, scope_of
from whorl.wings.automation.rules import UNDO, Windows, iso, rule_of

if TYPE_CHECKING:
    from whorl.ir import Trigger, Value, Workflow
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.keys import Seals
    from whorl.runtimes.start_options import Start
    from whorl.wings.automation.table import Schedule

# The status of a reply that has no news.
_NOTHING: Final = 202
# Where a reply says that is asked next time, sealed.
_NEXT: Final = "next"


def windowed(workflow: Workflow, schedule: Schedule, start: Start, due: float) -> Start:
    """A start with the window of time that is due, where its trigger has such."""
    rule = rule_of(schedule.rule)
    if not isinstance(rule, Windows):
        return start
    begin, end = rule.span(due)
    window: dict[str, Json] = {"windowStartTime": iso(begin), "windowEndTime": iso(end)}
    return replace(start, input=start.input | {workflow.main_input: window})


async def polled(
    providers: Providers, seals: Seals, workflow: Workflow, schedule: Schedule, start: Start
) -> tuple[Start | None, dict[str, Json]]:
    """A start with what another system says, or None for no news; and the rule from then on.

    Raises ProviderError where it does not answer, or not with a success.
    """
    trigger = workflow.trigger
    assert trigger is not None
    assert trigger.poll is not None
    task = _task(trigger, trigger.poll, scope_of(workflow, start.input, 0.0))
    place = schedule.rule.get(_NEXT)
    asked = task["inputs"].get("call") if task["kind"] == "connector" else task["inputs"]
    if isinstance(place, str) and isinstance(asked, dict):
        # The other side keeps what we have seen in the address that it gives.
        url = seals.open(place, schedule.id)
        asked |= {"url": url, "sent_to": str(asked.get("url")), "query": None}
    reply = await _performed(providers, trigger, task, start.key)
    rule = {name: value for name, value in schedule.rule.items() if name != _NEXT}
    location = _location(reply)
    if location and isinstance(asked, dict):
        base = str(asked.get("sent_to") or asked.get("url"))
        rule[_NEXT] = seals.seal(urljoin(base, location), schedule.id)
    if reply.get("status") == _NOTHING:
        return None, rule
    call = Call("POST", trigger.path, headers=_table(reply.get("headers")), body=_body(reply))
    return replace(start, input=start.input | inputs_of(trigger, call)), rule


async def subscribe(
    providers: Providers, seals: Seals, workflow: Workflow, schedule: Schedule, address: str
) -> dict[str, Json]:
    """Gives another system the address of a trigger; gives the rule with how to take that back."""
    trigger = workflow.trigger
    assert trigger is not None
    assert trigger.subscribe is not None
    scope = scope_of(workflow, schedule.inputs, 0.0)
    values: dict[str, Json] = {**scope.mapping, "$callback_url": address}
    task = _task(trigger, trigger.subscribe, MappingScope(values))
    reply = await _performed(providers, trigger, task, "")
    undo = None
    if trigger.unsubscribe is not None:
        outputs: dict[str, Json] = {"statusCode": reply.get("status"), **reply}
        record: Json = {"name": trigger.name, "outputs": outputs}
        values |= {"$trigger": record, "$action": record}
        undo = _task(trigger, trigger.unsubscribe, MappingScope(values))["inputs"]
    elif (location := _location(reply)) and isinstance(call := task["inputs"].get("call"), dict):
        undo = {name: call[name] for name in ("headers", "auth") if name in call}
        undo |= {"method": "DELETE", "url": urljoin(str(call.get("url")), location)}
    sealed = None if undo is None else seals.seal(json.dumps(undo), schedule.id)
    return schedule.rule | {UNDO: sealed}


async def unsubscribe(providers: Providers, seals: Seals, schedule: Schedule) -> str:
    """Takes the address of a trigger back; gives why that was not possible, or nothing."""
    sealed = schedule.rule.get(UNDO)
    if not isinstance(sealed, str):
        return ""
    try:
        inputs: dict[str, Any] = json.loads(seals.open(sealed, schedule.id))
        request = Request("", schedule.trigger, "http", inputs)
        await providers.kind("http").perform(request, lambda text: None)
    except (ProviderError, StoreError) as fault:
        return str(fault)
    return ""


def _task(trigger: Trigger, value: Value, scope: MappingScope) -> dict[str, Any]:
    """The kind and the inputs of what is asked."""
    task = computed(trigger, value, scope)
    assert isinstance(task, dict)
    return task


async def _performed(
    providers: Providers, trigger: Trigger, task: dict[str, Any], key: str
) -> dict[str, Json]:
    request = Request("", trigger.name, task["kind"], task["inputs"], key=key)
    reply = await providers.kind(request.kind).perform(request, lambda text: None)
    return _table(reply.value)


def _table(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _location(reply: dict[str, Json]) -> str:
    headers = _table(reply.get("headers")).items()
    return next((str(value) for name, value in headers if name.lower() == "location"), "")


def _body(reply: dict[str, Json]) -> Json:
    """The body; content that is no text stands for itself, with its type."""
    body = reply.get("body")
    if reply.get("encoding") != "base64":
        return body
    kind = str(_table(reply.get("headers")).get("content-type", "application/octet-stream"))
    return {"$content-type": kind, "$content": body}
