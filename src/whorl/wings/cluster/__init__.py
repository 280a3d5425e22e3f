"""The cluster runtime: Temporal distributes, recovers and fences the runs.

Temporal's history of a run is the only truth. The code that drives the run derives the journal from
it and keeps it in an ordinary store file, the mirror, which people read.
"""

from whorl.plugins import Wing

WING = Wing(
    commands={
        "worker": ("server", 4, "whorl.wings.cluster.commands:worker", "Run a cluster worker.")
    },
    offers={
        "cluster": "whorl.wings.cluster.service:CLUSTER",
        "cluster_schedules": "whorl.wings.cluster.service:cluster_schedules",
    },
)
