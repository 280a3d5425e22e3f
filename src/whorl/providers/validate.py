"""The task `validate`: checks a value against a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.schema import fit
from whorl.providers.inputs import Inputs
from whorl.providers.task import Estimate, Reply
from whorl.providers.texts import NotJson, parse_json

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.task import Effect, Emit, Request


class Validate:
    """Inputs: value, schema. The value is `{valid, data, errors}`; a text that holds JSON is read,
    unless the schema wants a text.
    """

    effect: Effect = "none"

    def __init__(self, context: Context) -> None:
        del context

    def estimate(self, request: Request) -> Estimate:
        """Nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Checks the value; one that does not fit is no error."""
        inputs = Inputs("validate", request.inputs)
        schema = inputs.get("schema")
        found, faults = fit(schema, _read(inputs.get("value"), schema))
        listed: list[Json] = [*faults]
        return Reply({"valid": not faults, "data": found, "errors": listed})


def _read(value: Json, schema: Json) -> Json:
    if not isinstance(value, str) or (isinstance(schema, dict) and schema.get("type") == "string"):
        return value
    try:
        return parse_json(value)
    except NotJson:
        return value
