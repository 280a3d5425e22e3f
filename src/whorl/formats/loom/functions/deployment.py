"""The functions of deployment templates, beside those that they share with Logic Apps.

Files are not deployed: subscription and tenant have ids of zeros, the resource group is called
`local`. Functions that only Azure can compute, such as `reference` and `uniqueString`, are missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from whorl.formats.loom.functions import collections
from whorl.formats.loom.values.arguments import Family, not_valid, print_text, text
from whorl.language.libraries import Library
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.values import Value


DEPLOYMENT = Family("deployment")

_NOBODY = "00000000-0000-0000-0000-000000000000"
_SUBSCRIPTION = f"/subscriptions/{_NOBODY}"
_GROUP = f"{_SUBSCRIPTION}/resourceGroups/local"
_PLACE = re.compile(r"\{\{|\}\}|\{([0-9]{1,3})(?::[^{}]*)?\}")
_FACTS: dict[str, Value] = {
    "subscription": {
        "id": _SUBSCRIPTION,
        "subscriptionId": _NOBODY,
        "tenantId": _NOBODY,
        "displayName": "local",
    },
    "resourceGroup": {
        "id": _GROUP,
        "name": "local",
        "type": "Microsoft.Resources/resourceGroups",
        "location": "local",
        "tags": {},
    },
}
for _name, _fact in _FACTS.items():
    DEPLOYMENT(f"{_name}()", "information about the deployment", _fact)(lambda fact, run: fact)


@DEPLOYMENT("$given(name:str)", "what the run is given for a parameter")
def _given(run: Run, name: str) -> Value:
    value = run.lookup(name)
    return None if value is UNDEFINED else value


@DEPLOYMENT("concat(value, ...)", "texts one after another, or the items of all arrays")
def _concat(run: Run, values: list[Value]) -> Value:
    arrays = [value for value in values if isinstance(value, list)]
    if not arrays or len(arrays) < len(values):
        return collections.concat(run, values)
    run.check_items(sum(map(len, arrays)), "concat")
    return [item for array in arrays for item in array]


@DEPLOYMENT("format(text, ...)", "a text with values in place of {0}, {1}, ...")
def _format(run: Run, values: list[Value]) -> str:
    pattern, *given = text("format", 0, values[0]), *values[1:]
    parts, end, size = [], 0, 0
    for place in _PLACE.finditer(pattern):
        if place[1] is not None and int(place[1]) >= len(given):
            raise not_valid("format", f"there is no value for {place[0]!r}")
        inner = place[0][0] if place[1] is None else print_text(run, given[int(place[1])])
        parts += [pattern[end : place.start()], inner]
        size += len(inner)
        run.limit_text(len(pattern) + size, "format")
        end = place.end()
    return "".join([*parts, pattern[end:]])


DEPLOYMENT("uri(base:str, relative:str)", "a relative URI resolved against a base")(
    lambda run, base, relative: urljoin(base, relative)
)


@DEPLOYMENT("resourceId(type, ...)", "the id of a resource in the resource group", _GROUP)
@DEPLOYMENT("subscriptionResourceId(type, ...)", "the id of a subscription resource", _SUBSCRIPTION)
def _resource_id(function: str, scope: str, run: Run, values: list[Value]) -> str:
    """Returns `/providers/NAMESPACE/TYPE/NAME/...`: each part of the type with its name."""
    parts = [text(function, min(place, 3), value) for place, value in enumerate(values)]
    space, *kinds = parts[0].split("/")
    names = [name for part in parts[1:] for name in part.split("/")]
    if not kinds or len(kinds) != len(names):
        raise not_valid(function, "there must be a type, and one name for each part of it")
    pairs = "".join(f"/{kind}/{name}" for kind, name in zip(kinds, names, strict=True))
    return f"{scope}/providers/{space}{pairs}"


LIBRARY = Library(functions=tuple(DEPLOYMENT.entries))
