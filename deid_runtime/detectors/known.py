"""Which sentences of a note the models read.

What a list or template explains needs no model. The lines of the package are left out of what models read, and the
thresholds were chosen so. The lines that a site adds are read as context, and only asked of no more: left out, they
would move what stands around them into other windows, beside other sentences, and a line that is accepted would change
what is found elsewhere. A window of nothing but such lines is not read at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deid_runtime.detectors.inclusion import InclusionList, load_inclusion
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import Templates, load_templates
from deid_runtime.settings import Settings
from deid_runtime.spans import Sentence


@dataclass(frozen=True, slots=True)
class KnownLines:
    """An inclusion list and templates."""

    inclusion: InclusionList
    templates: Templates

    def explain(self, sentence: str) -> bool:
        """Say whether one of them explains a sentence."""
        return sentence in self.inclusion or self.templates.match(sentence) is not None


def packaged_lines(settings: Settings) -> KnownLines | None:
    """Return the lines of the package where ``settings`` name other ones, None where they do not."""
    if settings.inclusion is None and settings.templates is None:
        return None
    return KnownLines(load_inclusion(None, screen=find_patterns), load_templates(None))


def sentences_to_read(
    text: str, sentences: Sequence[Sentence], unexplained: Sequence[Sentence], packaged: KnownLines | None
) -> Sequence[Sentence]:
    """Return of the ``sentences`` of a note what models read: the ``unexplained``, and as known what a site explains.

    ``packaged`` is what comes with the package, None where nothing else explains.
    """
    if packaged is None or len(unexplained) == len(sentences):
        return unexplained
    asked = {sentence.start for sentence in unexplained}
    return [
        sentence if sentence.start in asked else replace(sentence, is_known=True)
        for sentence in sentences
        if sentence.start in asked or not packaged.explain(text[sentence.start : sentence.end])
    ]
