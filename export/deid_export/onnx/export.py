"""Export the trained heads as one ONNX graph: tokens in, one tag and one score per token and head out.

Softmax and argmax are in the graph, so that its outputs are small: uint8 tags and float16 scores. optimum traces the
model and then compares the graph with it.
"""

import warnings
from pathlib import Path
from typing import Final

import torch
from optimum.exporters.onnx import OnnxConfig, export, validate_model_outputs
from optimum.utils import NormalizedTextConfig
from torch import Tensor, nn
from transformers import PretrainedConfig

from deid_export.model.tagger import BranchedTagger
from deid_runtime.models.manifest import INPUTS

OPSET: Final = 18
_AXES: Final = {0: "batch", 1: "tokens"}
_SAMPLE: Final = (2, 16)  # rows and tokens of the windows that the model is traced with
_SCORE_ERROR: Final = 2e-3  # of float16


class FusedGraph(nn.Module):
    """All heads of a :class:`BranchedTagger` with their decoding; inputs are int32 ``(batch, tokens)``."""

    def __init__(self, model: BranchedTagger) -> None:
        super().__init__()
        self.model = model
        self.config = PretrainedConfig()  # optimum asks for one, and changes it

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Return for each head in turn ``label`` uint8, the best tag except ``O``, and ``score`` float16, 1 - P(O)."""
        logits = self.model(input_ids, token_type_ids, attention_mask.to(torch.float32))
        outputs: list[Tensor] = []
        for head in self.model.shape.heads:
            scores = logits[head]
            outputs.append(scores[..., 1:].argmax(dim=-1).to(torch.uint8))
            outputs.append((1.0 - torch.softmax(scores, dim=-1)[..., 0]).to(torch.float16))
        return tuple(outputs)


class _GraphConfig(OnnxConfig):  # type: ignore[misc]
    """What optimum needs to know about a graph: names and variable axes of inputs and outputs, and a sample."""

    NORMALIZED_CONFIG_CLASS = NormalizedTextConfig

    def __init__(self, graph: FusedGraph) -> None:
        super().__init__(graph.config, task="token-classification")
        self._outputs = output_names(graph.model)

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        """The variable axes of each input."""
        return dict.fromkeys(INPUTS, _AXES)

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """The variable axes of each output."""
        return dict.fromkeys(self._outputs, _AXES)

    def generate_dummy_inputs(self, framework: str = "pt", **shapes: int) -> dict[str, Tensor]:
        """Return the sample, int32 ``(2, 16)`` each."""
        ones = torch.ones(_SAMPLE, dtype=torch.int32)
        return dict(zip(INPUTS, (ones, torch.zeros_like(ones), ones), strict=True))


def output_names(model: BranchedTagger) -> list[str]:
    """Return the names of the graph's outputs, in order."""
    return [f"{head}_{what}" for head in model.shape.heads for what in ("label", "score")]


def export_fused(model: BranchedTagger, path: Path) -> None:
    """Write the float32 graph of ``model`` to ``path``, with variable batch and token axes.

    Raises:
        ValueError: the scores of the graph differ from those of the model by more than float16 rounds.
    """
    graph = FusedGraph(model).eval()
    config = _GraphConfig(graph)
    with warnings.catch_warnings():
        # The tracing exporter is deprecated and warns about it, but the quantisation was measured on its graphs.
        warnings.simplefilter("ignore")
        export(graph, config, path, opset=OPSET)
    # Not the tags: two that are equally likely may change places by rounding.
    scores = [name for name in output_names(model) if name.endswith("_score")]
    validate_model_outputs(config, graph, path, scores, atol=_SCORE_ERROR, use_subprocess=False)
