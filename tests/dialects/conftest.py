"""Here, so that the tests of all dialects find the modules of this folder."""
