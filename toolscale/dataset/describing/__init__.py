"""What a dataset shows people: figures, the card, cells in words, search, exports."""
