"""Search blocks of text: all detectors that need nothing but the block. Equal blocks are searched once.

A block is a stretch of a note between blank lines (:mod:`deid_runtime.text.blocks`). Each detector of this module reads
the block alone. So what is found in a note is what is found in its blocks, whatever stands around them, and a block
that comes again can have its findings from a cache, with the same results.
"""

from collections.abc import Sequence

from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.inclusion import InclusionList
from deid_runtime.detectors.known import KnownLines, sentences_to_read
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.people import find_people
from deid_runtime.detectors.templates import Templates
from deid_runtime.models.doubts import settle_doubts
from deid_runtime.pipeline.block_cache import BlockCache, Findings
from deid_runtime.pipeline.clock import StageClock
from deid_runtime.spans import Sentence, Span, Tagger
from deid_runtime.text.sentences import split_sentences


class BlockSearch:
    """The loaded detectors of blocks. ``clock`` measures their stages; the cache belongs to this search."""

    def __init__(
        self,
        *,
        inclusion: InclusionList,
        templates: Templates,
        tagger: Tagger | None,
        packaged: KnownLines | None,
        has_records: bool,
        cache: BlockCache,
        clock: StageClock,
    ) -> None:
        """Keep the detectors; :class:`~deid_runtime.pipeline.processing.Pipeline` explains the arguments.

        With ``has_records``, findings have what is needed to settle doubts once more, with spans of a record.
        """
        self._has_records = has_records
        self._inclusion = inclusion
        self._templates = templates
        self._tagger = tagger
        self._packaged = packaged
        self._cache = cache
        self._clock = clock

    def search(self, blocks: Sequence[str]) -> list[Findings]:
        """Return the findings of each block, in order. Blocks never change the findings of others."""
        if not self._cache.is_on:
            return self._found_in(blocks)
        known: dict[str, Findings | None] = {}
        for block in blocks:
            if block not in known:
                known[block] = self._cache.find(block)
        new = [block for block, findings in known.items() if findings is None]
        found = dict(zip(new, self._found_in(new), strict=True)) if new else {}
        for block, findings in found.items():
            self._cache.add(block, findings)
        self._cache.count(read=len(blocks), from_cache=len(blocks) - len(new))
        return [known[block] or found[block] for block in blocks]

    def _found_in(self, blocks: Sequence[str]) -> list[Findings]:
        clock = self._clock
        with clock.measure("sentences"):
            sentences = [split_sentences(block) for block in blocks]
        with clock.measure("inclusion"):
            unknown = [
                [sentence for sentence in row if block[sentence.start : sentence.end] not in self._inclusion]
                for block, row in zip(blocks, sentences, strict=True)
            ]
        with clock.measure("templates"):
            rows, unexplained = self._apply_templates(blocks, unknown)
        with clock.measure("patterns"):
            for row, found in zip(rows, find_patterns(blocks), strict=True):
                row.extend(found)
        with clock.measure("people"):
            for row, found in zip(rows, find_people(blocks), strict=True):
                row.extend(found)
        answers: list[list[Span]] = [[] for _ in blocks]
        settled = rows
        if self._tagger is not None:
            with clock.measure("models"):
                asked = [
                    sentences_to_read(*each, self._packaged)
                    for each in zip(blocks, sentences, unexplained, strict=True)
                ]
                answers = self._tagger(blocks, asked)
                settled = [settle_doubts(*each) for each in zip(rows, answers, unexplained, strict=True)]
        with clock.measure("clinical"):
            kept = [
                without_clinical(*each, has_models=self._tagger is not None)
                for each in zip(blocks, settled, strict=True)
            ]
        if not self._has_records:
            return [Findings.of((), (), (), spans) for spans in kept]
        return [Findings.of(*each) for each in zip(rows, answers, unexplained, kept, strict=True)]

    def _apply_templates(
        self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]
    ) -> tuple[list[list[Span]], list[list[Sentence]]]:
        """Return the spans that the templates find in each text, and the sentences that no template matches."""
        rows: list[list[Span]] = []
        unexplained: list[list[Sentence]] = []
        for text, candidates in zip(texts, sentences, strict=True):
            found: list[Span] = []
            rest: list[Sentence] = []
            for sentence in candidates:
                spans = self._templates.match(text[sentence.start : sentence.end])
                if spans is None:
                    rest.append(sentence)
                else:
                    found.extend(span.shift(sentence.start) for span in spans)
            rows.append(found)
            unexplained.append(rest)
        return rows, unexplained
