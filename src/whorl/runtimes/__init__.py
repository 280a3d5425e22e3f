"""Where it runs: the driver, the journal and the runtimes."""
