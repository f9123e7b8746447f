"""From judged candidates to a folder that can be loaded, trusted and executed again.

Here: rows, shards, the manifest, and where folders lie. In the rooms, each above the one before: `describing`,
`making`, `checking`, `comparing`.
"""
