"""One side of the overhead of experiments, in a process of its own: `python -m bench.trials SIDE`.

SIDE is `runs` (the same runs, started one by one) or `experiment`; it prints CPU and peak memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

AT_ONCE = 8
_CONFIG = """
[defaults]
provider = "demo"
model = "scripted"
[providers.demo]
kind = "scripted"
[[providers.demo.replies]]
match = "Guess"
replies = ["a"]
[[providers.demo.replies]]
match = "Review"
replies = [{json = {score = 0.1}}]
"""
_STEPS = {
    "write": {"ask": "Guess {{ n }} now"},
    "review": {"ask": "Review {{ write }}", "returns": {"score": "number"}},
}


def measured(side: str, trials: int, iterations: int) -> dict[str, float]:
    """The CPU seconds and the peak of memory in MB of a side, measured in a fresh process."""
    words = [sys.executable, "-m", "bench.trials", side, str(trials), str(iterations)]
    environment = os.environ | {"WHORL_TRUST": "1"}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _written(folder: Path, trials: int, iterations: int) -> Any:
    """A project with an experiment of as many cases; gives its project and its file."""
    from whorl.services.project import find_project

    until = [{"score": {"from": "{{ review.score }}", "at_least": 0.9}}]
    loop = {"repeat": {"until": until, "at_most": iterations, "steps": _STEPS}}
    flow = {"whorl": 1, "name": "guess", "inputs": {"n": "integer"}, "steps": {"polish": loop}}
    flow["outputs"] = {"text": "{{ polish.write }}"}
    (folder / "guess.json").write_text(json.dumps(flow))
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(trials)))
    (folder / "whorl.toml").write_text(_CONFIG)
    file = {"experiment": 1, "workflow": "guess.json", "cases": "cases.csv"}
    file |= {"grade": "outputs.text == 'a'", "at_once": AT_ONCE}
    path = folder / "guess.experiment.json"
    path.write_text(json.dumps(file))
    return find_project({}, folder=folder), str(path)


async def _side(side: str, project: Any, file: str) -> dict[str, float]:
    from whorl.providers.registry import Providers
    from whorl.runtimes.start_options import Start
    from whorl.services.run_driver import Driving
    from whorl.services.runs import open_runtime
    from whorl.wings.experiments.document import read_experiment
    from whorl.wings.experiments.results import Study
    from whorl.wings.experiments.runner import ExperimentRunner

    experiment = read_experiment(project, file)
    providers = Providers(project.settings())
    async with open_runtime(project, providers, origin="python") as runtime:
        driving, room = Driving(runtime), asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with room:
                start = Start(input={"n": number}, file=file, cold=True)
                run, _ = await runtime.start(experiment.reading.workflow, start)
                driving.drive(run)
                await driving.settled(run)

        begin = time.process_time()
        try:
            if side == "runs":
                await asyncio.gather(*(one(n) for n in range(len(experiment.cases))))
            else:
                conductor = ExperimentRunner(project, driving, providers, experiment)
                conductor.open()
                await conductor.run()
        finally:
            await driving.close()
        used, begin = time.process_time() - begin, time.process_time()
        if side == "experiment":
            report = Study(project, runtime.store, experiment, providers.settings).report()
            assert report.is_complete
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_s": used, "report_s": time.process_time() - begin, "peak_mb": peak}


def main() -> None:
    """Measures the side that is asked for."""
    side, trials, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        project, file = _written(Path(folder), trials, iterations)
        print(json.dumps(asyncio.run(_side(side, project, file))))


if __name__ == "__main__":
    main()
