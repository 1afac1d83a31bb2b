"""The network: encoder, heads, and the files of their weights."""
