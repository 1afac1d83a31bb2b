"""Load a pipeline: lists, templates, models and the key."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.known import packaged_lines
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.records.date_shifts import read_date_shifts
from deid_runtime.records.patients import checked_records
from deid_runtime.settings import Settings
from deid_runtime.spans import PatientRecord, Tagger
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.key_versions import KEY_VERSIONS


def load_pipeline(settings: Settings, *, key: bytes | None, records: Mapping[str, PatientRecord]) -> Pipeline:
    """Load lists, templates and models. Without ``key`` the pipeline can detect, but not de-identify.

    ``records`` maps patient ids to patient records. Notes of patients without a record are processed as well.

    Raises SettingsError for a record with an unknown field or an unreadable date of birth, and for a wrong list,
    template or setting. Raises ModelError for models that are missing or do not fit.
    """
    records = checked_records(records)
    with ExitStack() as resources:
        inclusion = load_inclusion(settings.inclusion, screen=find_patterns)
        templates = load_templates(settings.templates)
        tagger: Tagger | None = None
        models: object = None
        window_counts: Callable[[], Mapping[str, int]] = dict
        if settings.use_models:
            # The engines are slow to import, and a pipeline without models must run without them.
            from deid_runtime.models.tagger import load_tagger

            server = settings.server
            model_tagger = resources.enter_context(server.connect(settings) if server else load_tagger(settings))
            tagger, models = model_tagger, dict(model_tagger.manifest)
            window_counts = model_tagger.window_counts
        surrogates = surrogate_maker(settings)(key) if key is not None else None
        return Pipeline(
            inclusion=inclusion,
            templates=templates,
            tagger=tagger,
            surrogates=surrogates,
            records=records,
            description={
                "models": models,
                "engine": "server" if settings.server else settings.engine,
                "profile": settings.profile,
                "thresholds": dict(settings.thresholds),
                "window_borders": settings.window_borders,
                "window_cache_bytes": settings.window_cache_bytes,
                "operator": settings.operator,
                "key_versions": dict(KEY_VERSIONS),
                "date_shift_days": settings.date_shift_days,
                "date_shift_whole_weeks": settings.date_shift_whole_weeks,
                "given_date_shifts": settings.given_date_shifts is not None,
                "dates": settings.dates,
                "safe_harbor": settings.safe_harbor,
                "hold_back_unreadable": settings.hold_back_unreadable,
                "inclusion": {"entries": len(inclusion), "sha256": inclusion.sha256},
                "templates": {"entries": len(templates), "sha256": templates.sha256},
                "patient_records": len(records),
            },
            resources=resources.pop_all(),
            packaged=packaged_lines(settings),
            hold_back_unreadable=settings.hold_back_unreadable,
            window_counts=window_counts,
        )


def surrogate_maker(settings: Settings) -> Callable[[bytes], Surrogates]:
    """Return a function that builds the Surrogates of a key. The table of date shifts by patient is read here, once.

    Raises SettingsError for a wrong table. The returned function raises it for settings that contradict each other.
    """
    return partial(
        Surrogates,
        operator=settings.operator,
        date_shift_days=settings.date_shift_days,
        date_shift_whole_weeks=settings.date_shift_whole_weeks,
        given_date_shifts=(
            read_date_shifts(settings.given_date_shifts, whole_weeks=settings.date_shift_whole_weeks)
            if settings.given_date_shifts
            else None
        ),
        dates=settings.dates,
        safe_harbor=settings.safe_harbor,
    )
