"""What is left of the answers and faults of secure tasks for those who look at a run.

An entry that is marked keeps all that the machine needs to go on; `whorl.services.redaction` shows
of it what is harmless. The message of a fault goes into other entries, so only its kind is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.secrets import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json

MARK = "secure"

# What a message quotes of the inputs of a task stands in its detail under this name.
_QUOTED = "quoted"
# These are in words of ours, which quote nothing that a task gave.
_OUR_WORDS = frozenset({"P101", "P107", "P108", "P110", "P112", "P114", "P116", "P118", "R110"})
_WORDS = {
    "P102": "the provider limits the rate",
    "P103": "the provider has an error of its own",
    "P104": "the provider refuses the request",
    "P105": "the answer does not fit its declared type",
    "P106": "the answer is too large",
    "P109": "a command failed or was not found",
    "P111": "the answer is cut off, empty or malformed",
    "P113": "an input is missing or wrong",
    "P115": "it returned something that is no JSON",
    "P117": "it gave too much",
    "P119": "the model refuses to answer",
    "P120": "an MCP server cannot be used",
    "P121": "a tool is not there or not allowed",
    "P122": "a tool's description has changed during the run",
    "P123": "a tool failed",
    "P124": "the model wants tools without end",
    "P130": "an agent program failed",
    "I900": "a mistake inside of it",
}


def kind_of_fault(code: str, message: str, detail: Mapping[str, object]) -> str:
    """The message of a secure task's fault without anything that the task was given or gave."""
    if code in _OUR_WORDS or detail.get(MARK) is True:
        return message
    status, exit_code = detail.get("status"), detail.get("exit_code")
    told = f"it gave status {status}" if isinstance(status, int) else _WORDS.get(code, "it failed")
    if code == "P109" and isinstance(exit_code, int):
        told = f"the command ended with code {exit_code}"
    return f"{told}; what it said is kept out of sight, since it is secure"


def without_inputs(message: str, detail: dict[str, Json], *, secure: bool) -> str:
    """A fault's message; that of a task whose inputs are secure quotes none of them."""
    quoted = detail.pop(_QUOTED, None)
    return message.replace(quoted, HIDDEN) if secure and isinstance(quoted, str) else message


def marked(body: dict[str, Json]) -> dict[str, Json]:
    """The body of an entry that tells of a secure task."""
    return body | {MARK: True}
