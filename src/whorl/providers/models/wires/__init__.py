"""Wire formats: how a conversation is put to a server or a model, and its answer read."""
