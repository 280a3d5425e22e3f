"""The tables of servers in the store: tokens, the audit, schedules."""
