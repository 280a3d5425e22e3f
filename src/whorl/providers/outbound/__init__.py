"""The one way out to the network: every address checked, every size bounded."""
