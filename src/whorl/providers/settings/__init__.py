"""What the operator configured, as data: providers, prices, leave, tasks."""

from __future__ import annotations

from whorl.providers.settings.agents import AgentSettings
from whorl.providers.settings.notices import NotifySettings
from whorl.providers.settings.outside import ConnectorSettings, KeySettings
from whorl.providers.settings.reading import settings_from
from whorl.providers.settings.shape import (
    Allow,
    Price,
    ProviderSettings,
    ReplyRule,
    Settings,
    ToolServer,
)

__all__ = [
    "AgentSettings",
    "Allow",
    "ConnectorSettings",
    "KeySettings",
    "NotifySettings",
    "Price",
    "ProviderSettings",
    "ReplyRule",
    "Settings",
    "ToolServer",
    "settings_from",
]
