"""What the operator configured, as data: providers, prices, permissions, tasks."""

from __future__ import annotations

from whorl.providers.settings.sections import settings_from
from whorl.providers.settings.types import (
    AgentSettings,
    Allow,
    ConnectorSettings,
    KeySettings,
    NotifySettings,
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
