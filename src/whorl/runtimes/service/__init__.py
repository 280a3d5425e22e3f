"""What servers keep in the store beside runs: tokens, the audit, schedules."""
