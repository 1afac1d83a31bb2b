"""Export the trained heads as one ONNX graph: tokens in, one tag and one score per token and head out.

Softmax and argmax are in the graph, so that its outputs are small: uint8 tags and float16 scores.
"""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from deid_export.model.tagger import BranchedTagger
from deid_runtime.models.manifest import INPUTS

OPSET = 18


class FusedGraph(nn.Module):
    """All heads of a :class:`BranchedTagger` with their decoding; inputs are int32 ``(batch, tokens)``."""

    def __init__(self, model: BranchedTagger) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Return for each head in turn ``label`` uint8, the best tag except ``O``, and ``score`` float16, 1 - P(O)."""
        logits = self.model(input_ids, token_type_ids, attention_mask.to(torch.float32))
        outputs: list[Tensor] = []
        for head in self.model.shape.heads:
            scores = logits[head]
            outputs.append(scores[..., 1:].argmax(dim=-1).to(torch.uint8))
            outputs.append((1.0 - torch.softmax(scores, dim=-1)[..., 0]).to(torch.float16))
        return tuple(outputs)


def output_names(model: BranchedTagger) -> list[str]:
    """Return the names of the graph's outputs, in order."""
    return [f"{head}_{what}" for head in model.shape.heads for what in ("label", "score")]


def export_fused(model: BranchedTagger, path: Path) -> None:
    """Write the float32 graph of ``model`` to ``path``, with variable batch and token axes."""
    graph = FusedGraph(model).eval()
    sample = torch.ones((2, 16), dtype=torch.int32)
    names = output_names(model)
    axes = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings():
        # The tracing exporter is deprecated and warns about it, but the quantisation was measured on its graphs.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (sample, torch.zeros_like(sample), sample),
            str(path),
            input_names=list(INPUTS),
            output_names=names,
            dynamic_axes=dict.fromkeys((*INPUTS, *names), axes),
            opset_version=OPSET,
            dynamo=False,
        )
