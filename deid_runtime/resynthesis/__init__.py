"""Re-synthesis of an annotated corpus: replace every marked identifier by a surrogate and keep the annotations."""
