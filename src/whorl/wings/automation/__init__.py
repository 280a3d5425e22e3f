"""Schedules, webhooks and triggers: what starts runs without a person."""

from whorl.plugins import Wing

WING = Wing(
    commands={
        "schedule": (
            "Run",
            "whorl.wings.automation.schedule_commands:schedule",
            "Let the clock start workflows.",
        ),
        "hook": (
            "Keep",
            "whorl.wings.automation.hook_commands:hook",
            "Make addresses that start workflows, for other systems.",
        ),
    },
    routers=(
        "whorl.wings.automation.schedule_routes:router",
        "whorl.wings.automation.hook_routes:router",
        "whorl.wings.automation.webhook_routes:router",
    ),
    jobs=("whorl.wings.automation.firing:scheduler_of",),
    checks=("whorl.wings.automation.registry:findings",),
    offers={"schedules": "whorl.wings.automation.python:schedules_of"},
)
