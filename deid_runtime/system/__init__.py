"""Access to the operating system: files, locks, signals and processor cores."""
