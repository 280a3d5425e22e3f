"""How much is tried: some in every run of the tests, and far more of it in a campaign.

The tests take the same seeds each time, so that they pass or fail for everybody alike.
`make campaign` draws a seed, prints it, and runs what is marked `campaign` from there.
"""

from __future__ import annotations

import os

_DRAWN = os.environ.get("WHORL_CAMPAIGN")
IS_CAMPAIGN = _DRAWN is not None
SEED = int(_DRAWN or 0)


def amount(few: int, many: int) -> int:
    """How many examples are tried: few in the tests, many in a campaign."""
    return many if IS_CAMPAIGN else few


def inputs(few: int) -> int:
    """How many inputs are made up for each reader; before a release as many as `make security`
    asks for."""
    return int(os.environ.get("WHORL_INPUTS", few))


def requests(few: int, many: int) -> int:
    """How many requests are made up for each operation of the HTTP interface."""
    return int(os.environ.get("WHORL_REQUESTS", amount(few, many)))


def seeds(few: int, many: int) -> range:
    """The seeds that are tried; no two campaigns are likely to share one."""
    return range(SEED * 100_000, SEED * 100_000 + amount(few, many))
