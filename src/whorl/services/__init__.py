"""The operations on runs for all interfaces: start, steer, inspect, replay, forecast."""
