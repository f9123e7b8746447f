"""A model from scratch that learns the tool calls of one domain in minutes, on a processor: it reads a request and what
tools returned word by word, and writes calls whose values point at words that stand there."""
