"""The only way out to the network: every address is checked, every size bounded."""
