"""What the trials of an experiment come to: reports, the gate, and the statistics of both."""
