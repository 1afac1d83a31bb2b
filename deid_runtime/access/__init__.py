"""Who may use a service: projects with their tokens, certificates, key names and limits."""
