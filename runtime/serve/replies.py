"""Pieces of a request as the API's objects: chunk by chunk, or all at once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any

from plait import __version__
from plait.runtime.engine.piece import End, Logprob, Piece
from plait.runtime.serve.served import Texts

REASONS = {End.STOP: "stop", End.LENGTH: "length"}
FINGERPRINT = f"plait-{__version__}"
LEAST = -9999.0
"""What stands for the log probability of what is never chosen, since JSON has no infinity."""


class Reply:
    """What both kinds have in common."""

    prefix: str
    whole_kind: str
    chunk_kind: str

    def __init__(self, model: str, texts: Texts, prompt: int, with_usage: bool):
        self.id = f"{self.prefix}-{uuid.uuid4().hex}"
        self.model = model
        self.texts = texts
        self.prompt = prompt
        self.with_usage = with_usage
        self.created = int(time.time())

    def opening(self) -> list[dict[str, Any]]:
        """Chunks before any token."""
        return []

    def chunk(self, piece: Piece) -> list[dict[str, Any]]:
        raise NotImplementedError

    def whole(self, piece: Piece) -> dict[str, Any]:
        raise NotImplementedError

    def closing(self, tokens: int, reused: int) -> list[dict[str, Any]]:
        """Chunks behind the last piece."""
        if not self.with_usage:
            return []
        return [self._object(self.chunk_kind, [], self._usage(tokens, reused))]

    def _object(
        self, kind: str, choices: list[dict[str, Any]], usage: object = None
    ) -> dict[str, Any]:
        found = {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
        }
        if usage is not None or (kind == self.chunk_kind and self.with_usage):
            found["usage"] = usage
        return found

    def _usage(self, tokens: int, reused: int) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": tokens,
            "total_tokens": self.prompt + tokens,
            "prompt_tokens_details": {"cached_tokens": reused},
        }

    def _choice(self, piece: Piece, logprobs: object, **content: object) -> dict[str, Any]:
        reason = None if piece.end is None else REASONS[piece.end]
        return {"index": 0, **content, "logprobs": logprobs, "finish_reason": reason}

    def _letters(self, token: int) -> str:
        return self.texts.spelt(token).decode(errors="replace")


class Completion(Reply):
    prefix, whole_kind, chunk_kind = "cmpl", "text_completion", "text_completion"
    at = 0
    """Letters of the tokens so far."""

    def chunk(self, piece: Piece) -> list[dict[str, Any]]:
        if not (piece.text or piece.tokens or piece.end):
            return []
        choice = self._choice(piece, self._logprobs(piece), text=piece.text)
        return [self._object(self.chunk_kind, [choice])]

    def whole(self, piece: Piece) -> dict[str, Any]:
        choice = self._choice(piece, self._logprobs(piece), text=piece.text)
        usage = self._usage(len(piece.tokens), piece.reused)
        return self._object(self.whole_kind, [choice], usage)

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        if not piece.logprobs:
            return None
        letters = [self._letters(token) for token in piece.tokens]
        offsets = []
        for one in letters:
            offsets.append(self.at)
            self.at += len(one)
        return {
            "tokens": letters,
            "token_logprobs": [_finite(one.logprob) for one in piece.logprobs],
            "top_logprobs": [
                {self._letters(token): _finite(value) for token, value in reversed(one.top)}
                for one in piece.logprobs
            ],
            "text_offset": offsets,
        }


class Chat(Reply):
    prefix, whole_kind, chunk_kind = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def opening(self) -> list[dict[str, Any]]:
        delta = {"role": "assistant", "content": ""}
        return [self._object(self.chunk_kind, [self._choice(Piece(), None, delta=delta)])]

    def chunk(self, piece: Piece) -> list[dict[str, Any]]:
        if not (piece.text or piece.tokens or piece.end):
            return []
        delta = {"content": piece.text} if piece.text else {}
        choice = self._choice(piece, self._logprobs(piece), delta=delta)
        return [self._object(self.chunk_kind, [choice])]

    def whole(self, piece: Piece) -> dict[str, Any]:
        message = {"role": "assistant", "content": piece.text, "refusal": None}
        choice = self._choice(piece, self._logprobs(piece), message=message)
        usage = self._usage(len(piece.tokens), piece.reused)
        return self._object(self.whole_kind, [choice], usage)

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        if not piece.logprobs:
            return None
        pairs: Iterable[tuple[int, Logprob]] = zip(piece.tokens, piece.logprobs, strict=True)
        content = [
            self._token(token, one.logprob)
            | {"top_logprobs": [self._token(*likely) for likely in one.top]}
            for token, one in pairs
        ]
        return {"content": content, "refusal": None}

    def _token(self, token: int, logprob: float) -> dict[str, Any]:
        spelt = self.texts.spelt(token)
        return {"token": self._letters(token), "logprob": _finite(logprob), "bytes": list(spelt)}


def _finite(logprob: float) -> float:
    return logprob if logprob > LEAST else LEAST  # and where a model gives no number
