"""Runs over many notes: batches, worker processes, staged output, quarantine, reports."""
