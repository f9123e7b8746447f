"""What a dataset shows people: figures, the card with its pictures, cells in words, search, exports."""
