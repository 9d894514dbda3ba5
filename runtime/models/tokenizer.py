"""Byte-level BPE: lossless on any text, 1023 tokens of its own; the model adds one that opens a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Bpe

PIECES = r" ?[A-Za-z]+|\n *| ?[0-9]| ?[^\sA-Za-z0-9]+|\s"
"""What a token never crosses. A line break takes the indentation after it: one token a new line."""

PRINTED = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
"""Bytes that byte-level BPE writes as the letter of that number; the others follow from U+0100 on."""
OTHERS = [byte for byte in range(256) if byte not in PRINTED]
BYTES = {chr(byte): byte for byte in PRINTED} | {
    chr(0x100 + place): byte for place, byte in enumerate(OTHERS)
}


class Tokenizer:
    """Text to token ids and back. The token that opens a text is outside its vocabulary, so no text
    can spell it."""

    def __init__(self, bpe: Bpe):
        self._bpe = bpe

    def encode(self, text: str) -> list[int]:
        return self._bpe.encode(text, add_special_tokens=False).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._bpe.encode_batch(list(texts), add_special_tokens=False)
        return [one.ids for one in encoded]

    def decode(self, ids: Iterable[int]) -> str:
        """A character whose bytes are not complete yet comes back as U+FFFD."""
        return self._bpe.decode([i for i in ids if i < self.size])

    def spelt(self, token: int) -> bytes:
        """What a token stands for; it may be a part of a character."""
        if not 0 <= token < self.size:
            return b""
        return bytes(map(BYTES.__getitem__, self._bpe.id_to_token(token) or ""))

    @property
    def size(self) -> int:
        return self._bpe.get_vocab_size()

    def save(self, path: Path) -> None:
        self._bpe.save(str(path), pretty=False)

    @classmethod
    def from_bytes(cls, data: bytes) -> Tokenizer:
        """Raises ValueError."""
        try:
            return cls(Bpe.from_buffer(data))
        except Exception as error:  # tokenizers raises nothing more special
            raise ValueError(error) from None

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> Tokenizer:
        bpe = Bpe(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        bpe.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        bpe.train_from_iterator(
            texts,
            trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False),
        )
        return cls(bpe)
