"""Re-synthesis of an annotated corpus: every marked identifier replaced, the marks kept."""
