"""The writing side: one thread, one transaction for all that waits, one owner per run."""
