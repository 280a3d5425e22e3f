"""Servers that are killed, stopped and started again; a clock that is set, a disk that fills."""
