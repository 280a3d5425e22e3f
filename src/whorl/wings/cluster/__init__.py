"""The cluster runtime: the machine inside of Temporal, which distributes, recovers and fences.

Temporal's history of a run is the only truth. The journal that people read is derived from it by
the code that drives the run, and kept in an ordinary store file: the mirror.
"""

from whorl.plugins import Wing

WING = Wing(
    commands={
        "worker": (
            "server",
            4,
            "whorl.wings.cluster.commands:worker",
            "Do the work of a cluster here.",
        ),
    },
    offers={
        "cluster": "whorl.wings.cluster.service:CLUSTER",
        "cluster_schedules": "whorl.wings.cluster.service:cluster_schedules",
    },
)
