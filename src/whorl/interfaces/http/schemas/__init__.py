"""What goes over HTTP, in both directions: closed models that the OpenAPI document is made of."""
