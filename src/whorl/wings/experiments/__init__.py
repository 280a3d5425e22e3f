"""Experiments on loops: trials over cases and variants, and the results of other stop rules."""

from whorl.plugins import FileKind, Wing

WING = Wing(
    commands={
        "experiment": (
            "Groups",
            1,
            "whorl.wings.experiments.commands:experiment",
            "Compare variants over many cases; what-if; judges.",
        )
    },
    files=(
        FileKind(
            "experiment",
            "whorl.wings.experiments.document:SCHEMA",
            "whorl.wings.experiments.commands:check_file",
            word="experiment",
            claims="whorl.wings.experiments.document:is_experiment",
        ),
    ),
    routers=("whorl.wings.experiments.routes:router", "whorl.wings.experiments.routes:runs_router"),
    jobs=("whorl.wings.experiments.server_jobs:experiments_of",),
    names={
        "Experiment": "whorl.wings.experiments.python",
        "what_if": "whorl.wings.experiments.python",
    },
)
