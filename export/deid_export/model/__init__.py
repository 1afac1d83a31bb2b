"""The network: encoder, heads, and their weights on disk."""
