"""A front for the servers: REST with JSON and streams, tokens or certificates, limits, an audit log without text."""
