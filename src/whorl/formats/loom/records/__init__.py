"""What actions came to, in Azure's words: for expressions, histories and tests."""
