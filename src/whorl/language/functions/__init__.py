"""The functions of the language: small tables by family, merged into libraries."""
