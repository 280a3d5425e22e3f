"""Schedules on a cluster, as its server has them: it fires them by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.wings.automation.rules import CronRule, Interval, rule_of
from whorl.wings.cluster.service import check_installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.automation.table import ScheduleTable
    from whorl.wings.cluster.schedules import Times


def cluster_schedules(project: Project, store: SqliteStore) -> ScheduleTable:
    """The schedules of a cluster, which its server fires."""
    check_installed()
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.schedules import ClusterSchedules

    settings = project.settings().runtime.temporal
    return ClusterSchedules(store, lambda: connect(settings), settings.queue, _times_of)


def _times_of(document: Mapping[str, Json]) -> Times:
    """A rule as the server has it; of both days of cron, one may be enough."""
    from whorl.wings.cluster.schedules import Times

    rule = rule_of(document)
    if isinstance(rule, Interval):
        return Times(every_s=rule.every_s, start=rule.start)
    assert isinstance(rule, CronRule)
    cron = rule.cron
    time_of_day, days, weekdays = (cron.minutes, cron.hours), range(1, 32), range(7)
    dates: list[tuple[Iterable[int], ...]] = [(cron.days, cron.months, cron.weekdays)]
    if cron.is_either:
        dates = [(cron.days, cron.months, weekdays), (days, cron.months, cron.weekdays)]
    return Times(tuple((*time_of_day, *each) for each in dates), rule.zone_name)
