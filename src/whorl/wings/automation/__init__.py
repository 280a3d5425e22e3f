"""Schedules, webhooks and triggers: they start runs without a person."""

from whorl.plugins import Wing

WING = Wing(
    commands={
        "hook": (
            "server",
            2,
            "whorl.wings.automation.commands:hook",
            "Make addresses that start workflows, for other systems.",
        ),
        "schedule": (
            "server",
            3,
            "whorl.wings.automation.commands:schedule",
            "Start workflows on a schedule.",
        ),
    },
    routers=(
        "whorl.wings.automation.routes:schedules_router",
        "whorl.wings.automation.routes:hooks_router",
        "whorl.wings.automation.routes:webhooks_router",
    ),
    jobs=("whorl.wings.automation.firing:scheduler_of",),
)
