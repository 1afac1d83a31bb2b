"""The detector whose models run on a server. Its results are bit-identical to those of the embedded engine."""

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from deid_client.connection import Connection
from deid_client.metrics import ClientMetrics
from deid_client.routes import Votes
from deid_client.settings import ServerSettings
from deid_runtime.models.batching import Batch, make_batches, pad
from deid_runtime.models.manifest import Manifest, Profile
from deid_runtime.models.tagger import SpanDecoder, SpanRows, choose_profile, combined
from deid_runtime.models.window_cache import WindowCache
from deid_runtime.settings import Settings
from deid_runtime.spans import Sentence, Span
from deid_runtime.system.closing import Closing

#: Batches per request in flight that are sent but not decoded: the next batch is ready when a slot becomes free.
_BATCHES_AHEAD: Final = 2


#: Batches in progress, each with its future answer.
_Pending = deque[tuple[Batch, Future[Votes]]]


class TritonTagger(Closing):
    """A :data:`~deid_runtime.spans.Tagger`, like :class:`~deid_runtime.models.tagger.ModelTagger`. Use one per thread.

    Several taggers may share a connection. A context manager: leaving it closes the connection if the tagger owns it.
    """

    def __init__(
        self,
        connection: Connection,
        manifest: Manifest,
        profile: Profile,
        thresholds: Mapping[str, float],
        *,
        owns_connection: bool = True,
        cache_bytes: int = 0,
        end_at_blank_lines: bool = False,
    ) -> None:
        self._connection = connection
        self._owns_connection = owns_connection
        self._decoder = SpanDecoder(profile.graphs, profile, thresholds)
        self._vote = profile.vote
        self._encoder = manifest.word_encoder()
        self._end_at_blank_lines = end_at_blank_lines
        self._cache = WindowCache(cache_bytes, self._decoder.least_score)
        self._most_pending = connection.settings.requests_in_flight * _BATCHES_AHEAD
        self.manifest: Mapping[str, object] = {
            **manifest.content,
            "models_sha256": manifest.profile_sha256(profile.name),
            "engine": "server",
            "server": connection.settings.describe(),
            "profile": profile.name,
            "thresholds": self._decoder.thresholds,
        }

    def __call__(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Return one row of spans per text, sorted, in offsets of the text. Spans of different heads may overlap.

        ``sentences`` are the sentences of each text to tag, in order; neighbours share windows. Windows are sent while
        later ones are made; the number of pending batches is limited.

        Raises ModelError when the service does not answer all windows.
        """
        spans = SpanRows(self._decoder, self._cache, texts)
        pending: _Pending = deque()
        try:
            for batch in make_batches(
                texts,
                sentences,
                self._encoder,
                self._most_rows,
                spans.add_known,
                end_at_blank_lines=self._end_at_blank_lines,
            ):
                pending.append((batch, self._ask(batch)))
                while pending and (len(pending) >= self._most_pending or pending[0][1].done()):
                    self._take(pending, spans)
            while pending:
                self._take(pending, spans)
        finally:
            for _, votes in pending:
                votes.cancel()
        return spans.sorted()

    def window_counts(self) -> Mapping[str, int]:
        """Return how many windows were read so far, and how many of them were answered from the cache."""
        return self._cache.counts

    def _most_rows(self, width: int) -> int:
        settings = self._connection.settings
        return max(1, min(settings.request_rows, settings.request_tokens // width))

    def _ask(self, batch: Batch) -> Future[Votes]:
        windows = [window for _, window in batch]
        ids, types, mask = (array[: len(windows)] for array in pad(windows, self._encoder.pad))
        votes = self._connection.ask((ids, types, mask))
        self._connection.metrics.windows.inc(len(windows))
        return votes

    def _take(self, pending: _Pending, spans: SpanRows) -> None:
        """Wait for the oldest batch and add its spans."""
        batch, votes = pending[0]
        spans.add(batch, combined(votes.result(), self._vote))
        pending.popleft()

    def close(self) -> None:
        """Free the cache, and close the connection unless it is shared."""
        self._cache.clear()
        if self._owns_connection:
            self._connection.close()


def load_tagger(settings: Settings, server: ServerSettings, metrics: ClientMetrics | None = None) -> TritonTagger:
    """Connect to ``server``, check that it has the models named in ``settings``, and return a tagger.

    Raises ModelError when local models are missing, the server's models differ or no server answers; SettingsError for
    a wrong setting.
    """
    manifest, profile = choose_profile(settings)
    connection = Connection(server, manifest, profile, metrics)
    try:
        return TritonTagger(
            connection,
            manifest,
            profile,
            settings.thresholds,
            cache_bytes=settings.window_cache_bytes // 2,
            end_at_blank_lines=settings.window_borders == "blocks",
        )
    except BaseException:
        connection.close()
        raise
