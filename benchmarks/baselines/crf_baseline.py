"""The CRF of the audit (:mod:`deid_runtime.audit.crf`) as a baseline, with the lists of the training if wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_export.data.gazetteers import load_gazetteers
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit import crf
from deid_runtime.audit.crf import load
from deid_runtime.audit.gazetteer import make_gazetteer

__all__ = ["CrfSettings", "load", "train"]


@dataclass(frozen=True, kw_only=True)
class CrfSettings(crf.CrfSettings):
    """How the CRF learns. ``lists``: a folder of further gazetteers, as ``deid-export train --lists`` takes it."""

    lists: Path | None = None


def train(notes: Sequence[AnnotatedNote], settings: CrfSettings, out: Path) -> dict[str, object]:
    """Train on ``notes`` and write the model into ``out``; return figures of the training for its card.

    Raises SourceError naming the first file that is missing below the folder of lists.
    """
    gazetteer = make_gazetteer(further_lists(settings.lists)) if settings.lists else None
    return crf.train([(note.text, note.spans) for note in notes], settings, out, gazetteer)


def further_lists(folder: Path) -> dict[str, list[str]]:
    """Return the entries of the lists below ``folder`` by the name of their list."""
    lists = load_gazetteers(folder)
    return {
        "given-census": [*lists.given.values, *lists.given_world],
        "family-census": [*lists.family.values, *lists.family_world],
        "city-large": [*lists.cities, *lists.cities_world],
        "street-large": list(lists.streets),
        "country-large": [*lists.countries, *lists.demonyms],
        "hospital-large": [*lists.hospitals, *lists.clinics],
        "company-large": [*lists.companies, *lists.organizations],
        "drug": list(lists.drugs),
        "eponym": list(lists.eponyms),
        "common": sorted(lists.common_words),
    }
