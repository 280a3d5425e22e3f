"""The reading side: short queries on connections that cannot write."""
