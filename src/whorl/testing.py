"""Tests of workflows: mocks by the names of steps, rules for models, time that jumps.

    from whorl import testing

    def test_it_stops_when_the_review_approves():
        review = [{"outputs": {"approved": False}}, {"outputs": {"approved": True}}]
        outcome = testing.run("polish.yaml", mocks={"write": "a text", "review": review})
        assert outcome.loop("polish").iterations == 2

With pytest, the fixture `whorl` does the same, and a test that fails shows why its loops ended.
"""

from __future__ import annotations

from whorl.wings.testing.api import Failed, Outcome, Whorl, run
from whorl.wings.testing.running import StepCall

__all__ = ["Failed", "Outcome", "StepCall", "Whorl", "run"]
