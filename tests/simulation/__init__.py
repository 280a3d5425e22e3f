"""Drives the machine itself with random workflows, orders, faults and crashes."""
