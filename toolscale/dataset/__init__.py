"""From judged candidates to a folder that can be loaded, trusted and executed again."""
