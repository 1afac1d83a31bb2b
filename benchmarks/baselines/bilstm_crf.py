"""The character-enhanced bidirectional LSTM with a CRF of Dernoncourt et al. 2016 (JAMIA 24:596), with their sizes.

Characters (25) go through an LSTM (25 each way), its ends are joined to the token's embedding (100), and that goes
through dropout (0.5), an LSTM (100 each way), a hidden layer (100, tanh) and a CRF over the tags of a sentence.

What differs: their token embeddings began as GloVe; here they begin as the word pieces of the base BERT, averaged over
the word and projected to 100 dimensions by principal components, or at random. Sentences are learnt in batches of
similar length, by Adam unless SGD is asked for: their SGD at 0.005 takes one sentence a step, and hours on a CPU.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import torch
from crf_layer import LinearChainCrf
from fitting import FitSettings, fit, split_patients
from tag_schemes import allowed, tag_names
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deid_export.data.fresh_values import Rates
from deid_export.data.gazetteers import load_gazetteers
from deid_export.data.resample import Resampler
from deid_export.model.tagger import load_base
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.word_tags import SentenceWords, sentence_words, spans_of_tags, tag_words
from deid_runtime.errors import ModelError
from deid_runtime.lexicon.name_cues import fold
from deid_runtime.spans import Span

NAME: Final = "bilstm-crf"
_MODEL: Final = "model.pt"
_LONGEST: Final = 25  # characters of a word that are read
_UNKNOWN: Final = 0  # id of a word or character that training never met
_PADDING: Final = 1  # id of a character behind the end of a word
_POOL: Final = 64  # batches sorted by length at a time
_EMBEDDING_SPREAD: Final = 0.4  # standard deviation of the token embeddings at the start, about that of GloVe's
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Widths of the network: those of the paper."""

    characters: int = 25
    character_lstm: int = 25  # each way
    tokens: int = 100
    token_lstm: int = 100  # each way
    hidden: int = 100
    dropout: float = 0.5


@dataclass(frozen=True, kw_only=True)
class BilstmSettings:
    """How the network learns. ``tokens`` are words."""

    tokens: int = 5_000_000
    minutes: float | None = None
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 2e-3
    batch_sentences: int = 32
    unknown_share: float = 0.5  # of the words met once: learnt as unknown, so that unknown means something
    patience: int = 10
    held_out: float = 0.1  # share of patients
    base: str | None = None  # BERT whose word pieces the token embeddings begin as; None: at random
    resample_from: Path | None = None  # lists: learn fresh values in every pass, as our own models do
    threads: int = 2
    seed: int = 17


@dataclass(frozen=True)
class Vocabulary:
    """Ids of folded words with digits as 0, and of characters."""

    words: dict[str, int]
    characters: dict[str, int]


@dataclass(frozen=True)
class Batch:
    """Sentences as input: the distinct words of all of them, and where they stand.

    ``words`` int64 ``(distinct,)``, ``characters`` int64 ``(distinct, longest)`` with ``lengths`` int64, ``places``
    int64 ``(rows, length)`` into the distinct words, ``mask`` bool and ``tags`` int64 of the same shape.
    """

    words: Tensor
    characters: Tensor
    lengths: Tensor
    places: Tensor
    mask: Tensor
    tags: Tensor


class BilstmCrf(nn.Module):
    """The network; :meth:`emissions` gives scores of tags, :attr:`crf` makes them a distribution over sequences."""

    def __init__(self, words: int, characters: int, sizes: Sizes) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, sizes.characters)
        self.character_lstm = nn.LSTM(sizes.characters, sizes.character_lstm, batch_first=True, bidirectional=True)
        self.words = nn.Embedding(words, sizes.tokens)
        nn.init.normal_(self.words.weight, std=_EMBEDDING_SPREAD)
        self.dropout = nn.Dropout(sizes.dropout)
        width = sizes.tokens + 2 * sizes.character_lstm
        self.token_lstm = nn.LSTM(width, sizes.token_lstm, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(2 * sizes.token_lstm, sizes.hidden)
        self.output = nn.Linear(sizes.hidden, len(tag_names("BIO")))
        self.crf = LinearChainCrf(allowed("BIO"))

    def emissions(self, batch: Batch) -> Tensor:
        """Return scores ``(rows, length, tags)``."""
        packed = pack_padded_sequence(
            self.characters(batch.characters), batch.lengths, batch_first=True, enforce_sorted=False
        )
        _, (ends, _) = self.character_lstm(packed)
        distinct = torch.cat([self.words(batch.words), ends[0], ends[1]], dim=1)
        tokens = self.dropout(distinct[batch.places])
        packed = pack_padded_sequence(tokens, batch.mask.sum(1), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.token_lstm(packed)[0], batch_first=True)
        scores: Tensor = self.output(torch.tanh(self.hidden(states)))
        return scores

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of a sentence."""
        return -self.crf.log_likelihood(self.emissions(batch), batch.tags, batch.mask).mean()


class BilstmDetector:
    """A :data:`~deid_runtime.spans.Detector` on whole notes; made by :func:`load`."""

    def __init__(self, model: BilstmCrf, vocabulary: Vocabulary, batch_sentences: int) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._batch_sentences = batch_sentences
        self._names = tag_names("BIO")

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return one row of sorted, disjoint spans per text."""
        rows: list[list[Span]] = [[] for _ in texts]
        sentences = [(number, words) for number, text in enumerate(texts) for words in sentence_words(text)]
        sentences.sort(key=lambda pair: len(pair[1].starts))
        for first in range(0, len(sentences), self._batch_sentences):
            chunk = sentences[first : first + self._batch_sentences]
            batch = make_batch([(spelt(texts[number], words), None) for number, words in chunk], self._vocabulary)
            with torch.inference_mode():
                paths = self._model.crf.decode(self._model.emissions(batch), batch.mask)
            for (number, words), path in zip(chunk, paths, strict=True):
                rows[number] += spans_of_tags(words, [self._names[tag] for tag in path], NAME)
        return [sorted(row) for row in rows]


def spelt(text: str, words: SentenceWords) -> list[str]:
    """Return the words as they stand in ``text``."""
    return [text[start:end] for start, end in zip(words.starts, words.ends, strict=True)]


def make_batch(
    sentences: Sequence[tuple[Sequence[str], Sequence[int] | None]],
    vocabulary: Vocabulary,
    unknown: frozenset[str] = frozenset(),
) -> Batch:
    """Pad sentences, each of words and their tags if known; words whose form is in ``unknown`` become unknown."""
    place: dict[str, int] = {}
    for words, _ in sentences:
        for word in words:
            place.setdefault(word, len(place))
    longest = max(len(words) for words, _ in sentences)
    forms = [_form(word) for word in place]
    letters = [[vocabulary.characters.get(c, _UNKNOWN) for c in word[:_LONGEST]] for word in place]
    widest = max(map(len, letters))
    padded = [[place[word] for word in words] + [0] * (longest - len(words)) for words, _ in sentences]
    tags = [[*(known or [0] * len(words)), *[0] * (longest - len(words))] for words, known in sentences]
    lengths = torch.tensor([len(words) for words, _ in sentences])
    return Batch(
        torch.tensor([_UNKNOWN if form in unknown else vocabulary.words.get(form, _UNKNOWN) for form in forms]),
        torch.tensor([row + [_PADDING] * (widest - len(row)) for row in letters]),
        torch.tensor([len(row) for row in letters]),
        torch.tensor(padded),
        torch.arange(longest) < lengths[:, None],
        torch.tensor(tags),
    )


def train(
    notes: Sequence[AnnotatedNote], settings: BilstmSettings, out: Path, sizes: Sizes | None = None
) -> dict[str, object]:
    """Train on ``notes`` but a held-out share, write the model into ``out``, return figures of the training."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    sizes = sizes or Sizes()
    learnt, held_out = split_patients(notes, share=settings.held_out, seed=settings.seed)
    sentences = _sentences(learnt)
    counts = Counter(_form(word) for words, _ in sentences for word in words)
    vocabulary = _vocabulary(counts, sentences, settings.base)
    model = BilstmCrf(len(vocabulary.words) + 1, len(vocabulary.characters) + 2, sizes)
    if settings.base is not None:
        vectors = projected_pieces(settings.base, list(vocabulary.words), sizes.tokens)
        model.words.weight.data[1:, : vectors.shape[1]] = vectors  # a narrow base leaves some at random
    optimizer: torch.optim.Optimizer
    if settings.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=settings.learning_rate, fused=True)
    rare = sorted(form for form, number in counts.items() if number == 1)
    lists = load_gazetteers(settings.resample_from) if settings.resample_from is not None else None

    def batches_of_pass(number: int) -> Iterator[tuple[Batch, int]]:
        rng = random.Random(f"{settings.seed}-{number}")
        unknown = frozenset(form for form in rare if rng.random() < settings.unknown_share)
        fresh = sentences if lists is None else _sentences(learnt, Resampler(lists, rng, Rates()))
        for chunk in _chunks(fresh, settings.batch_sentences, rng):
            yield make_batch(chunk, vocabulary, unknown), sum(len(words) for words, _ in chunk)

    history = fit(
        model,
        optimizer,
        batches_of_pass,
        model.loss,
        BilstmDetector(model, vocabulary, settings.batch_sentences),
        held_out,
        FitSettings(
            tokens=settings.tokens,
            minutes=settings.minutes,
            learning_rate=settings.learning_rate,
            patience=settings.patience,
        ),
    )
    torch.save(
        {
            "state": model.state_dict(),
            "sizes": asdict(sizes),
            "words": list(vocabulary.words),
            "characters": list(vocabulary.characters),
            "batch_sentences": settings.batch_sentences,
        },
        out / _MODEL,
    )
    return {"held_out_notes": len(held_out), "passes": [asdict(passed) for passed in history]}


def load(folder: Path) -> BilstmDetector:
    """Load what :func:`train` wrote; tensors and plain values only, nothing is executed.

    Raises ModelError when the file is missing.
    """
    path = folder / _MODEL
    if not path.is_file():
        raise ModelError(f"{path} is missing; train the baseline again")
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model = BilstmCrf(len(saved["words"]) + 1, len(saved["characters"]) + 2, Sizes(**saved["sizes"]))
    model.load_state_dict(saved["state"])
    return BilstmDetector(model.eval(), _numbered(saved["words"], saved["characters"]), saved["batch_sentences"])


def projected_pieces(base: str, words: Sequence[str], size: int) -> Tensor:
    """Return a vector for each word: the mean of its word pieces in ``base``, on the ``size`` main axes of all pieces.

    float ``(words, size)``, or as wide as the base if that is less, with the spread of the usual token embeddings.
    """
    tokenizer = Tokenizer.from_file(str(Path(base) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    projected = main_axes(base, size, _EMBEDDING_SPREAD)
    encoded = tokenizer.encode_batch(list(words), add_special_tokens=False)
    return torch.stack([projected[row.ids].mean(0) if row.ids else torch.zeros(projected.shape[1]) for row in encoded])


def main_axes(base: str, size: int, spread: float) -> Tensor:
    """Return the piece embeddings of ``base`` on their ``size`` main axes, with ``spread`` as standard deviation.

    float ``(pieces, size)``, or as wide as the base if that is less. Distances between pieces keep their proportions as
    far as those axes hold them.
    """
    pieces = load_base(base).embeddings.word_embeddings.weight.detach()
    centred = pieces - pieces.mean(0)
    axes = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -size:]  # eigenvalues rise
    projected: Tensor = centred @ axes
    projected *= spread / projected.std()
    return projected


def _sentences(notes: Sequence[AnnotatedNote], resampler: Resampler | None = None) -> list[tuple[list[str], list[int]]]:
    """Return the words and tags of every sentence, of a fresh variant of each note when there is a resampler."""
    index = {tag: number for number, tag in enumerate(tag_names("BIO"))}
    texts = ((note.text, note.spans) if resampler is None else resampler.note(note) for note in notes)
    return [
        (spelt(text, words), [index[tag] for tag in tag_words(words, spans, "BIO")])
        for text, spans in texts
        for words in sentence_words(text)
    ]


def _vocabulary(
    counts: Counter[str], sentences: Sequence[tuple[Sequence[str], Sequence[int]]], base: str | None
) -> Vocabulary:
    """Number all words of training, and with a base its own as well: they have embeddings, as others had with GloVe."""
    words = set(counts)
    if base is not None:
        pieces = Tokenizer.from_file(str(Path(base) / "tokenizer.json")).get_vocab()
        words |= {piece for piece in pieces if piece.isalpha()}
    characters = {character for row, _ in sentences for word in row for character in word}
    return _numbered(sorted(words), sorted(characters))


def _numbered(words: Sequence[str], characters: Sequence[str]) -> Vocabulary:
    return Vocabulary(
        {word: number for number, word in enumerate(words, start=_UNKNOWN + 1)},
        {character: number for number, character in enumerate(characters, start=_PADDING + 1)},
    )


@lru_cache(maxsize=100_000)
def _form(word: str) -> str:
    return _DIGIT.sub("0", fold(word))


def _chunks(
    sentences: Sequence[tuple[list[str], list[int]]], size: int, rng: random.Random
) -> list[list[tuple[list[str], list[int]]]]:
    """Return all sentences in batches of similar length, in random order."""
    shuffled = rng.sample(sentences, len(sentences))
    chunks = []
    for start in range(0, len(shuffled), size * _POOL):
        pool = sorted(shuffled[start : start + size * _POOL], key=lambda pair: len(pair[0]))
        chunks += [pool[first : first + size] for first in range(0, len(pool), size)]
    rng.shuffle(chunks)
    return chunks
