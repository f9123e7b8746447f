"""What a user cares for, in words and as weights: a small grammar that can be read back, and wording by a model."""
