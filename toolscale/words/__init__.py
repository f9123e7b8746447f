"""First messages by writers.

`shapes` says what a writer is told of a shape, and whether a message says it; `frames` what is told and kept;
`phrasing` puts messages that somebody gives into the file of a domain, and `asking` has a model write them.
"""
