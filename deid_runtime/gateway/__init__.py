"""The gateway in front of the servers: REST, tokens or certificates, limits, an audit log without text."""
