"""The rules of a scripted provider, checked."""

from __future__ import annotations

import re
from typing import Literal, NoReturn, TypeAlias

from whorl.errors import UsageError, did_you_mean
from whorl.providers.settings.fields import REFERENCE
from whorl.providers.settings.shape import ReplyRule
from whorl.providers.texts import NotJson, as_json

By: TypeAlias = Literal["order", "iteration", "attempt"]
Exhaust: TypeAlias = Literal["repeat", "error"]

RULE = ("match", "replies", "by", "exhaust")
BY: dict[str, By] = {"order": "order", "iteration": "iteration", "attempt": "attempt"}
EXHAUST: dict[str, Exhaust] = {"repeat": "repeat", "error": "error"}


def rules_from(value: object, place: str) -> tuple[ReplyRule, ...]:
    """The rules in a list of tables, or in the `rules` of a table (a parsed replies file)."""
    if isinstance(value, dict) and set(value) == {"rules"}:
        value = value["rules"]
    if isinstance(value, str):
        _refuse(f"{place} replies names the file {value!r}, whose rules were not read")
    if not isinstance(value, list):
        _refuse(f"{place} replies must be a list of {{match, replies}} tables")
    return tuple(_rule(rule, f"{place} replies[{at}]") for at, rule in enumerate(value))


def _rule(rule: object, place: str) -> ReplyRule:
    if not isinstance(rule, dict):
        _refuse(f"{place} must be a table with match and replies")
    for key in rule:
        if key not in RULE:
            raise UsageError(f"{place} has no {key!r}", help=did_you_mean(key, RULE), code="W901")
    match, replies = rule.get("match", "."), rule.get("replies")
    by, exhaust = BY.get(rule.get("by", "order")), EXHAUST.get(rule.get("exhaust", "repeat"))
    if not isinstance(match, str) or not isinstance(replies, list) or not replies:
        _refuse(f"{place} needs match, a regular expression, and replies, a list that is not empty")
    if by is None or exhaust is None:
        _refuse(f"{place} takes by = {list(BY)} and exhaust = {list(EXHAUST)}")
    try:
        re.compile(match)
        return ReplyRule(match, tuple(as_json(reply) for reply in replies), by, exhaust)
    except re.error as cause:
        _refuse(f"{place} match is no regular expression: {cause}")
    except NotJson as cause:
        _refuse(f"{place} replies are not JSON: {cause}")


def _refuse(message: str) -> NoReturn:
    raise UsageError(message, code="W901", help=REFERENCE)
