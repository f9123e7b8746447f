"""What is run again for the results that README.md and docs/measurements state: it imports the product, and nothing of
the product imports it."""
