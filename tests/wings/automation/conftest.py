"""A project, a server on it, and a client with the token."""

from __future__ import annotations

from served import client, project, shared, spawn

__all__ = ["client", "project", "shared", "spawn"]
