"""How often the state of a long run is stored: at distances that grow with the state."""

from __future__ import annotations

from conformance.replies import Script, ScriptedWorkers
from whorl.dialects import read_workflow
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime

LONG = """
whorl: 1
steps:
  work:
    repeat:
      at_most: 800
      steps: {write: {ask: "Write."}}
"""


class _Counting(MemoryJournal):
    """A journal that remembers where snapshots were taken."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[int] = []

    async def snapshot(self, run, owner, seq, state):  # type: ignore[no-untyped-def]
        """Stores a state."""
        self.taken.append(seq)
        await super().snapshot(run, owner, seq, state)


def test_a_long_run_takes_few_snapshots() -> None:
    journal = _Counting()
    runtime = SimulatedRuntime(ScriptedWorkers(Script({"write": {"text": "x" * 200}})), journal)
    run = runtime.start(read_workflow(LONG, "long.yaml").workflow, {})
    runtime.resume(run)
    entries = sum(1 for _ in journal.read(run))
    distances = [b - a for a, b in zip([0, *journal.taken], journal.taken, strict=False)]

    assert entries > 3_000
    assert 2 <= len(journal.taken) <= entries // 256
    # The last one may be that of the end of the run.
    assert min(distances[:-1]) >= 256
