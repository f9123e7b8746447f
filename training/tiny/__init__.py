"""The embedded default: an orchestrator of 0.7 million parameters that reads expert cards word by word and answers
with one word."""
