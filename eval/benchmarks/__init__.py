"""The benchmarks: a file here is one. It has `ABOUT` and `open_benchmark`, and nothing else registers it."""
