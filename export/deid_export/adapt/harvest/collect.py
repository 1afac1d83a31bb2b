"""Collect candidates, in review order, in three passes over the notes.

1. Find the sentences and skeletons that may be frequent (:class:`~deid_export.adapt.harvest.counting.FrequentKeys`).
2. Count these exactly, and collect what their sentences have in common.
3. Match the compiled templates against every sentence, and count how often their words and those of the sentences occur
   in names, places and facilities.

The detectors then check each remaining line alone. The reasons for dropped candidates are counted.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_export.adapt.harvest.candidates import Candidate, Kind
from deid_export.adapt.harvest.checks import MaskCheck, MatchCheck, WordUse, share, value_counts
from deid_export.adapt.harvest.counting import FrequentKeys
from deid_export.adapt.harvest.passages import passages
from deid_export.adapt.harvest.prevalence import SentenceTally, sentence_key
from deid_export.adapt.harvest.sources import Pass
from deid_export.adapt.harvest.templates import TemplateTally, key_of, skeleton_of
from deid_export.adapt.harvest.terms import TermList
from deid_runtime.detectors.inclusion import InclusionList
from deid_runtime.detectors.templates import Templates, compile_template
from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.spans import Note

LOGGER: Final = logging.getLogger(__name__)

#: Least number of different values of a slot: a single value does not show that other values are identifiers too.
MIN_VALUES: Final = 2

_SCREENED_LINES: Final = 256  # lines that the detectors check at a time
_SHOWN_MASKS: Final = 3


@dataclass(frozen=True, kw_only=True)
class HarvestSettings:
    """The conditions for a candidate. The defaults suit tens of thousands of patients."""

    min_patients: int = 10  # lines of fewer patients are never shown
    top: int = 2_000  # most candidates of each kind
    agreement: float = 1.0  # least share of matching sentences that agree with a candidate
    max_beside: float = 0.25  # largest share next to a name, place or facility, for lines without an identifier
    tracked: int = 1_000_000  # keys in memory in the first pass, per kind; about 120 bytes each
    survivors: int = 100_000  # keys in memory in the second pass; up to 3 kB each


@dataclass(slots=True)
class Harvest:
    """The candidates of both files, most frequent first, and the counts of the harvest; ``counts`` contains no text."""

    inclusion: list[Candidate] = field(default_factory=list)
    templates: list[Candidate] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    #: Lines with fewer patients than this may be missing because of the memory limit; 0: none is missing.
    complete_from_patients: int = 0


#: Returns for each text whether a detector finds anything in it.
Screen = Callable[[Sequence[str]], list[bool]]


def screen_with(pipeline: Pipeline) -> Screen:
    """Return a screen that sends each line, as a separate note, to all detectors.

    A line that they cannot process counts as found.
    """

    def screen(lines: Sequence[str]) -> list[bool]:
        outcomes = pipeline.detect([Note(f"line {i}", line) for i, line in enumerate(lines)])
        return [isinstance(outcome, Quarantined) or bool(outcome.spans) for outcome in outcomes]

    return screen


def harvest(
    notes: Pass,
    *,
    inclusion: InclusionList,
    templates: Templates,
    screen: Screen,
    terms: TermList,
    settings: HarvestSettings,
) -> Harvest:
    """Return the candidates in ``notes`` that the present ``inclusion`` list and ``templates`` do not cover.

    Raises the errors of reading the notes, and SourceError when there are no notes.
    """
    result = Harvest()
    sentence_keys, skeleton_keys = _find_frequent(notes, inclusion, templates, terms, settings, result)
    LOGGER.info("pass 1: %d sentences and %d templates may be frequent", len(sentence_keys), len(skeleton_keys))
    sentences, skeletons = _count(notes, sentence_keys, skeleton_keys)
    lines = _template_lines(skeletons, settings, result)
    likely = [tally for tally in sentences if _is_prevalent(tally, settings, result)]
    LOGGER.info("pass 2: %d sentences and %d templates are frequent", len(likely), len(lines))
    matches = MatchCheck(list(lines))
    masks = MaskCheck([tally.masks for tally in lines.values()])
    words = WordUse(frozenset().union(*(t.words for t in likely), *(t.words for t in lines.values())))
    for number, note in enumerate(notes()):
        words.add(note)
        for passage in passages(note):
            matches.add(passage, number, note.patient)
            masks.add(passage)
    LOGGER.info("pass 3: templates matched against all sentences")
    result.inclusion = _inclusion_candidates(likely, words, terms, screen, settings, result)
    result.templates = _template_candidates(lines, matches, masks, words, screen, settings, result)
    return result


def _find_frequent(
    notes: Pass,
    inclusion: InclusionList,
    templates: Templates,
    terms: TermList,
    settings: HarvestSettings,
    result: Harvest,
) -> tuple[set[int], set[int]]:
    """Return the keys of sentences and of skeletons that may have enough patients."""
    plain, with_term, skeletons = (FrequentKeys(settings.tracked) for _ in range(3))
    patients = set()
    for note in notes():
        result.counts["notes"] += 1
        result.counts["notes_without_patient"] += not note.has_patient
        patients.add(note.patient)
        for passage in passages(note):
            result.counts["sentences"] += 1
            if passage.text in inclusion:
                result.counts["sentences_on_the_present_list"] += 1
                continue
            if templates.match(passage.text) is not None:
                result.counts["sentences_of_the_present_templates"] += 1
                continue
            if not passage.spans and (key := sentence_key(passage.text)) is not None:
                plain.add(key, note.patient)
                if terms.is_in(passage.text):
                    with_term.add(key, note.patient)
            parts = skeleton_of(passage)
            if parts is not None:
                skeletons.add(key_of(parts), note.patient)
    if not patients:
        raise SourceError(
            "there is no note to harvest from: none could be read, or none was processed; check the inputs"
        )
    result.counts["patients"] = len(patients)
    kept, floors = zip(
        *(keys.most_frequent(settings.min_patients, settings.survivors) for keys in (plain, with_term, skeletons)),
        strict=True,
    )
    floor = max(floors)
    result.complete_from_patients = floor + 1 if floor >= settings.min_patients else 0
    return kept[0] | kept[1], kept[2]


def _count(
    notes: Pass, sentence_keys: set[int], skeleton_keys: set[int]
) -> tuple[list[SentenceTally], list[TemplateTally]]:
    """Count the sentences and skeletons with these keys exactly."""
    sentences: dict[int, SentenceTally] = {}
    skeletons: dict[int, TemplateTally] = {}
    for number, note in enumerate(notes()):
        for passage in passages(note):
            key = sentence_key(passage.text)
            if key is not None and key in sentence_keys:
                tally = sentences.get(key) or sentences.setdefault(key, SentenceTally(passage.text))
                tally.add(passage, number, note.patient)
            parts = skeleton_of(passage)
            if parts is not None and (form := key_of(parts)) in skeleton_keys:
                skeleton = skeletons.get(form) or skeletons.setdefault(form, TemplateTally(parts))
                skeleton.add(passage, parts, number, note.patient)
    return list(sentences.values()), list(skeletons.values())


def _is_prevalent(tally: SentenceTally, settings: HarvestSettings, result: Harvest) -> bool:
    occurrences = tally.tally.occurrences
    if len(tally.tally.patients) < settings.min_patients:
        return False  # the bound of the first pass was too high; not counted as dropped
    if tally.found > (1 - settings.agreement) * (occurrences + tally.found):
        result.dropped["sentence: an identifier was found in it"] += 1
        return False
    if tally.beside_identifier > settings.max_beside * occurrences:
        result.dropped["sentence: it stands next to identifiers and may be what tells them"] += 1
        return False
    return True


def _template_lines(
    skeletons: Iterable[TemplateTally], settings: HarvestSettings, result: Harvest
) -> dict[str, TemplateTally]:
    """Return template line to tally for skeletons with enough patients; of equal lines, the one with most patients."""
    lines: dict[str, TemplateTally] = {}
    for tally in sorted(skeletons, key=lambda tally: -len(tally.tally.patients)):
        line = tally.line()
        if len(tally.tally.patients) < settings.min_patients or not line:
            continue
        if tally.may_be_date:
            result.dropped["template: two joined numbers may be a date"] += 1
        elif not tally.has_identifier and tally.beside_identifier > settings.max_beside * tally.tally.occurrences:
            result.dropped["template: it stands next to identifiers and may be what tells them"] += 1
        elif min((count for _, count in tally.values), default=MIN_VALUES) < MIN_VALUES:
            result.dropped["template: an identifier in it is always the same"] += 1
        elif not _is_cheap(line):
            result.dropped["template: no word of its own to find it by"] += 1
        else:
            lines.setdefault(line, tally)
    return lines


def _is_cheap(line: str) -> bool:
    """Return whether a template is found by a word; any other template would be tried on every sentence."""
    try:
        template = compile_template(line)
    except SettingsError:
        return False
    return template.first is not None or bool(template.anchor)


def _inclusion_candidates(
    tallies: Iterable[SentenceTally],
    words: WordUse,
    terms: TermList,
    screen: Screen,
    settings: HarvestSettings,
    result: Harvest,
) -> list[Candidate]:
    """Return the most frequent sentences, and then the most frequent of the rest that contain a term."""
    ordered = sorted(tallies, key=lambda t: (-len(t.tally.patients), -t.tally.occurrences, t.line))
    taken: dict[Kind, list[Candidate]] = {"frequent": [], "term": []}
    for start in range(0, len(ordered), _SCREENED_LINES):
        some = ordered[start : start + _SCREENED_LINES]
        for tally, is_found in zip(some, screen([tally.line for tally in some]), strict=True):
            name_like = words.name_like(tally.words)
            if is_found:
                result.dropped["sentence: a detector finds something in it alone"] += 1
            elif name_like and len(name_like) == len(tally.words):
                result.dropped["sentence: all its words stand in names, places or facilities too"] += 1
            else:
                has_term = terms.is_in(tally.line)
                kind: Kind = "frequent" if len(taken["frequent"]) < settings.top else "term"
                if kind == "frequent" or (has_term and len(taken["term"]) < settings.top):
                    taken[kind].append(_inclusion_candidate(kind, tally, name_like, has_term=has_term))
        if len(taken["frequent"]) == settings.top and (len(taken["term"]) == settings.top or not len(terms)):
            break
    return taken["frequent"] + taken["term"]


def _inclusion_candidate(kind: Kind, tally: SentenceTally, name_like: list[str], *, has_term: bool) -> Candidate:
    counts = tally.tally
    return Candidate(
        kind=kind,
        line=tally.line,
        patients=len(counts.patients),
        patients_exact=counts.patients.is_exact,
        notes=counts.notes,
        occurrences=counts.occurrences,
        evidence={
            "has_term": has_term,
            "occurrences_with_identifier": tally.found,
            "share_beside_identifier": share(tally.beside_identifier, counts.occurrences),
            "words_also_in_names": name_like,
        },
    )


def _template_candidates(
    lines: dict[str, TemplateTally],
    matches: MatchCheck,
    masks: MaskCheck,
    words: WordUse,
    screen: Screen,
    settings: HarvestSettings,
    result: Harvest,
) -> list[Candidate]:
    """Return the templates that agree with every sentence, most frequent first."""
    candidates = []
    plain = [tally.example() for tally in lines.values() if not tally.has_identifier]
    found_in_plain = iter(screen(plain))
    for i, (line, tally) in enumerate(lines.items()):
        is_found = not tally.has_identifier and next(found_in_plain)
        counts, occurrences = matches.matched[i], tally.tally.occurrences
        name_like = words.name_like(tally.words)
        tolerated = 1 - settings.agreement
        if len(counts.patients) < settings.min_patients:
            result.dropped["template: its slots do not fit what stood there"] += 1
        elif matches.differing[i] > tolerated * counts.occurrences:
            result.dropped["template: it matches sentences with other identifiers"] += 1
        elif masks.others[i] > tolerated * (occurrences + masks.others[i]):
            result.dropped["template: one syntax mask has several entity masks"] += 1
        elif name_like and len(name_like) == len(tally.words):
            result.dropped["template: all its words stand in names, places or facilities too"] += 1
        elif is_found:
            result.dropped["template: a detector finds something in an example"] += 1
        else:
            candidates.append(
                Candidate(
                    kind="template",
                    line=line,
                    patients=len(counts.patients),
                    patients_exact=counts.patients.is_exact,
                    notes=counts.notes,
                    occurrences=counts.occurrences,
                    evidence={
                        "sentences_matched_with_other_identifiers": matches.differing[i],
                        "sentences_matched_with_a_leak": matches.leaking[i],
                        "sentences_of_its_syntax_with_other_entities": masks.others[i],
                        "fewest_values_of_a_slot": value_counts(tally.values),
                        "share_beside_identifier": share(tally.beside_identifier, occurrences),
                        "words_also_in_names": name_like,
                        "syntax_masks": [" ".join(mask.syntax) for mask, _ in tally.masks.most_common(_SHOWN_MASKS)],
                    },
                )
            )
    candidates.sort(key=lambda c: (-c.patients, -c.occurrences, c.line))
    return candidates[: settings.top]
