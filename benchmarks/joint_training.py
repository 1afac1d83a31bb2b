"""Joint models that benchmarks of training compare: trained once, kept in a folder, loaded when asked for again."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_export.data.corpus import corpus_digest
from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.negatives import screened_sentences
from deid_export.model.tagger import BranchedTagger, load, packaged_base
from deid_export.train.batches import StreamSettings
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.text.windows import WordEncoder


@dataclass(frozen=True)
class Trainer:
    """What all trainings of one benchmark share; only notes and seed differ.

    Models lie in ``work`` under their name and a digest of notes and settings, so that none is taken for another;
    after a change to the training itself the folder must be removed by hand.
    """

    work: Path
    tokens: int
    threads: int
    lists: Gazetteers
    negatives: Sequence[Sequence[str]]
    encoder: WordEncoder
    resample: bool = True  # False: learn the values of the notes alone

    def model(self, name: str, notes: Sequence[AnnotatedNote], seed: int) -> BranchedTagger:
        """Train all heads jointly on ``notes`` for ``tokens``, going on where an earlier call was cut off."""
        settings = TrainSettings(
            base=packaged_base(), joint_tokens=self.tokens, head_tokens=0, threads=self.threads, seed=seed
        )
        stream = StreamSettings(seed=seed, resample=self.resample)
        out = self.work / f"{name}-{self._key(notes, settings, stream)}"
        joint = out / "joint.pt"
        if not joint.is_file():
            begun = time.perf_counter()
            heads = train(Data(notes, self.negatives, self.lists, []), self.encoder, settings, stream, out)
            heads.unlink()  # joint.pt with its upper layers five times over
            print(f"trained {out.name} in {time.perf_counter() - begun:.0f} s", flush=True)
        return load(joint)

    def _key(self, notes: Sequence[AnnotatedNote], settings: TrainSettings, stream: StreamSettings) -> str:
        learnt: dict[str, Any] = dataclasses.asdict(settings) | {"stream": dataclasses.asdict(stream)}
        for name in ("base", "threads", "checkpoint_every_s"):  # none of them changes what is learnt, but for rounding
            del learnt[name]
        learnt["clean_sentences"] = sum(map(len, self.negatives))
        text = corpus_digest(notes) + json.dumps(learnt, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_trainer(work: Path, tokens: int, threads: int, lists: Path, negatives: Sequence[Path]) -> Trainer:
    """Read lists, clean sentences and the tokenizer of the packaged base."""
    gazetteers = load_gazetteers(lists)
    encoder = WordEncoder.from_file(Path(packaged_base()) / "tokenizer.json")
    return Trainer(work, tokens, threads, gazetteers, screened_sentences(negatives, gazetteers), encoder)
