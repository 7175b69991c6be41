"""The engine: one holder of the shard runs the duties, any number stand by."""
