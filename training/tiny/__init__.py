"""The embedded default: an orchestrator of half a million parameters that reads expert cards word by word and answers
with one word."""
