"""Training: batches, loss, distillation, and the recipe of the shipped models."""
