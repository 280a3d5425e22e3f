"""What people do with runs, whatever they use for it: start, steer, inspect, replay, forecast."""
