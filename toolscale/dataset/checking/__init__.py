"""Whether a dataset is what it claims to be: its files, its rows, its whole, its quality, its signature."""
