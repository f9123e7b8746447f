"""A domain folder becomes a world that can be reset and called."""
