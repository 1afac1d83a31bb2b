"""Nothing of the notes stays in the process after a pipeline is closed."""

import functools
import gc

from deid_runtime import Note, Settings, load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.spans import PatientRecord

GIVEN, FAMILY, TOWN = "Zquelvina", "Ostrobravec", "Qwarnthby"
NOTES = [
    Note(
        "1",
        f"Mrs {GIVEN} {FAMILY} of {TOWN}, seen on 3/4/2019. {GIVEN} rang 020 7946 0018. Dr {FAMILY.upper()} agreed.",
        patient="p1",
    )
]
RECORDS = {"p1": PatientRecord("p1", {"first_name": GIVEN, "last_name": FAMILY, "city": TOWN, "country": "Ireland"})}


def test_no_cache_keeps_words_of_notes_or_records_after_closing() -> None:
    with load_pipeline(Settings(use_models=False), key=bytes(range(32)), records=RECORDS) as pipeline:
        assert all(isinstance(outcome, Deidentified) for outcome in pipeline.deidentify(NOTES))
        assert _caches_with_words()  # there is something to empty

    assert _caches_with_words() == []


def _caches_with_words() -> list[str]:
    """Return the names of the functions whose cache has a word of the note among its keys."""
    # By its type: to ask a deprecated object of torch for its class warns.
    caches = [each for each in gc.get_objects() if type(each) is functools._lru_cache_wrapper]
    return [cache.__qualname__ for cache in caches if _has_words(gc.get_referents(cache))]


def _has_words(referents: list[object]) -> bool:
    found = " ".join(repr(list(each)) for each in referents if isinstance(each, dict)).lower()
    return any(word.lower() in found for word in (GIVEN, FAMILY, TOWN))
