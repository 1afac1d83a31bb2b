"""Files, locks, signals and processor cores: what the operating system gives."""
