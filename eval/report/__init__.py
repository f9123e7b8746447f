"""What people read of an evaluation: one page that loads nothing, and a summary in Markdown."""
