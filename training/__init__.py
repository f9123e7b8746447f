"""Training of orchestrators: GRPO on a DeepSpeed engine. This package imports `toolscale`, and is never imported by it."""
