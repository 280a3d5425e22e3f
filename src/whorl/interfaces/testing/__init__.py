"""Tests of workflows, as people write and read them: `whorl.testing`, the pytest plugin."""
