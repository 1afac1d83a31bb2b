"""Training: batches, loss, distillation, and the recipe of the models of the package."""
