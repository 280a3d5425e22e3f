"""Random changes of real files: nothing is ever wrong, and nearly all can be made."""

from __future__ import annotations

from random import Random

import pytest
from drawn import corpora, own_files, shares, try_changes, try_operations

from campaign import IS_CAMPAIGN, SEED, amount

# The share that must be exact of what no rule forbids, in percent.
LEAST = {"native": 99.9, "studio": 99.9, "shodan": 99.5}


def _check(told: dict[str, dict[str, float]]) -> None:
    for dialect, share in told.items():
        print(dialect, share)
        assert share["wrong"] == 0, dialect
        if share["all"] >= 1_000:
            assert share["share"] >= LEAST.get(dialect, 95), dialect


@pytest.mark.slow
def test_random_changes_of_texts_are_what_they_mean() -> None:
    _check(shares(try_changes(own_files(), Random(1), 3)))


def test_random_operations_leave_valid_files() -> None:
    _check(shares(try_operations(own_files(), Random(2), 3)))


@pytest.mark.campaign
def test_random_changes_of_all_files() -> None:
    files = [*own_files(), *corpora()] if IS_CAMPAIGN else own_files()[:3]

    _check(shares(try_changes(files, Random(SEED), amount(1, 40))))
    _check(shares(try_operations(files, Random(SEED + 1), amount(1, 40))))
