"""The reader kit: what the readers of all dialects share, so that each has only its own rules.

context    one file while it is read: its diagnostics, places, called workflows; how reading ends
fields     plain values without diagnostics, and the fields of one object with diagnostics
structure  a whole file against tables: unknown, missing and wrong fields at once; a call against
           what the workflow takes
texts      texts with placeholders, JSON values that hold such texts, sources of expressions
"""
