"""Write a trained model file of a very small real BERT with random weights, and invented notes that it can learn."""

from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from deid_export.model.tagger import BranchedTagger, Shape, config_to_save, load_base, save
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged
from deid_runtime.labels import HEADS
from tests.deid_runtime.text.test_windows import small_tokenizer

LINES = (
    "pt <PATIENT>alma orr</PATIENT>, age <AGE>67</AGE>, seen <DATE>3/14/2019</DATE> by dr. <DOCTOR>quist</DOCTOR>.",
    "lives at <STREET>14 quarry st</STREET>, <CITY>elko</CITY>.\nworks at <ORGANIZATION>falk foods</ORGANIZATION>.",
    "admitted to <HOSPITAL>elko general</HOSPITAL>, mrn <MEDICALRECORD>0044178</MEDICALRECORD>.",
    "no fever today.",
)


def annotated(count: int = 12, *, first: int = 0) -> list[AnnotatedNote]:
    """Return notes ``n<number>`` that use the lines above in turn."""
    notes = []
    for number in range(first, first + count):
        turn = number % len(LINES)
        text, spans = parse_tagged("\n".join((*LINES[turn:], *LINES[:turn], f"visit {number} ended.")))
        notes.append(AnnotatedNote(f"n{number}", f"p{number}", "Letter", text, spans))
    return notes


def write_base(folder: Path, layers: int = 2) -> Path:
    """Write a small BERT with random weights and a letter tokenizer as a Hugging Face folder; return the folder."""
    tokenizer = small_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def write_trained(path: Path, base: Path, *, joint: bool = False) -> Path:
    """Write a ``heads.pt`` with random weights: one shared layer, and one own layer per head."""
    torch.manual_seed(1)
    encoder = load_base(str(base))
    model = BranchedTagger(encoder, Shape(1, tuple(HEADS)), joint=True)
    save(model if joint else model.branch_out(), config_to_save(encoder.config), path)
    return path
