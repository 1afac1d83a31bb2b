"""Evaluation of found spans against gold: token-binary, entity and character scores, uncertainty, a report."""
