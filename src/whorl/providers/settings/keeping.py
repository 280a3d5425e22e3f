"""The operator's `[retention]` and `[workflows]`: how long runs are kept, where workflows lie."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.ir.durations import parse_duration
from whorl.providers.settings.fields import check_keys, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

RETENTION = ("older_than",)
WORKFLOWS = ("folders",)
# A number alone would be seconds, which nobody means who keeps runs for a time.
_BARE = re.compile(r"[0-9.]*")


def retention_from(section: Table) -> dict[str, str]:
    """What `whorl prune` deletes where its options say nothing; raises UsageError."""
    check_keys(section, RETENTION, "[retention]")
    if "older_than" not in section:
        return {}
    written = section["older_than"]
    try:
        if not isinstance(written, str) or _BARE.fullmatch(written.strip()):
            raise ValueError("no unit")
        parse_duration(written)
    except ValueError:
        refuse(f"[retention] older_than must be a time such as '30d' or '12h', not {written!r}")
    return {"older_than": written}


def folders_from(section: Table) -> dict[str, object]:
    """The folders in which workflows are looked for by name; raises UsageError."""
    check_keys(section, WORKFLOWS, "[workflows]")
    folders = section.get("folders", [])
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        refuse("[workflows] folders must be a list of texts")
    return dict(section)
