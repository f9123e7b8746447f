"""Tasks served to programs that speak MCP: one over standard input and output, or many over HTTP."""
