"""Numbers as .NET reads, computes and writes them."""
