"""Choose the sentences of a note that models read.

Sentences that an inclusion list or a template explains need no model. Known-clean lines of the package are removed
from what models read, and the thresholds were chosen under this condition.

Known-clean lines that a site adds are context sentences: models read them and do not score them. Removing them would
change the windows of the sentences around them, so an added line could change what is found elsewhere. A window with
only such lines is not read at all.
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
        """Return whether the inclusion list or a template explains a sentence."""
        return sentence in self.inclusion or self.templates.match(sentence) is not None


def packaged_lines(settings: Settings) -> KnownLines | None:
    """Return the lines of the package if ``settings`` names other lines; otherwise None."""
    if settings.inclusion is None and settings.templates is None:
        return None
    return KnownLines(load_inclusion(None, screen=find_patterns), load_templates(None))


def sentences_to_read(
    text: str, sentences: Sequence[Sentence], unexplained: Sequence[Sentence], packaged: KnownLines | None
) -> Sequence[Sentence]:
    """Return the ``sentences`` of a note that models read: the ``unexplained``, and context sentences of the site.

    ``packaged`` are the lines of the package; None when no other lines explain sentences.
    """
    if packaged is None or len(unexplained) == len(sentences):
        return unexplained
    asked = {sentence.start for sentence in unexplained}
    return [
        sentence if sentence.start in asked else replace(sentence, is_known=True)
        for sentence in sentences
        if sentence.start in asked or not packaged.explain(text[sentence.start : sentence.end])
    ]
