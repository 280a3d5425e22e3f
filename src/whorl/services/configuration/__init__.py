"""The sources of settings, and the trust in folders."""
