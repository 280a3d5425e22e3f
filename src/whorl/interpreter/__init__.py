"""What a workflow does: pure, synchronous, deterministic code; events in, commands out."""

# Raised when the machine does something else with the same events, or is fed other ones; stored
# with each run. 2: events in the midst of work, at a `step`. 3: a loop that asks a person after
# each iteration warns when it ends at its limit. 4: a loop that its budget ends warns without a
# condition, too, and so does one whose judge is unclear.
BEHAVIOUR = 4
