"""The HTTP interface: `whorl serve` and the JSON and event streams that the page is made of."""
