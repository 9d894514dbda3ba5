"""A request's body, read: what the engine is asked for, and in what form it is answered."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from plait.runtime.engine.prompt import Prompt, Sampling
from plait.runtime.serve.chat import Message
from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.fields import Fields, checked
from plait.runtime.serve.served import Limits, Served

MOST_STOPS = 16
LONGEST_STOP = 256
"""Letters."""
COMPLETION = 16
"""New tokens of a completion that does not say how many, as in OpenAI's API."""
ROLES = ("system", "developer", "user", "assistant")
IGNORED = ("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key")
"""About whom is served, which is nothing here."""
SEEDS = 1 << 63


@dataclass(frozen=True)
class Asked:
    prompt: Prompt
    text: str | None
    """Of the prompt; None where it came as tokens."""
    stream: bool
    usage: bool
    """Whether a stream ends with how much was used."""


@dataclass(frozen=True)
class Reader:
    """Bodies to `Asked`. Everything raises ApiError for what cannot be served."""

    served: Served
    limits: Limits
    context: int
    """Of the decoder."""

    def completion(self, body: object) -> Asked:
        fields = Fields(body)
        self._model(fields)
        tokens, text = self._prompt(fields)
        for name in ("best_of", "n"):
            fields.only(name, 1)
        fields.only("echo", False)
        fields.only("suffix", "")
        logprobs = fields.whole("logprobs", 0, self._tops(fields, "logprobs"))
        most = fields.whole("max_tokens", 1, self._most, min(COMPLETION, self._most))
        return self._asked(fields, tokens, text, most, (), logprobs)

    def chat(self, body: object) -> Asked:
        template = self.served.template
        if template is None:
            raise ApiError(404, f"the model {self.served.name} has no chat: use /v1/completions")
        fields = Fields(body)
        self._model(fields)
        text = template.text(_messages(fields))
        tokens = self._encoded(text, "messages")
        fields.only("n", 1)
        fields.only("tools", [])
        fields.only("tool_choice", "none", "auto")
        fields.only("response_format", {"type": "text"})
        fields.only("modalities", ["text"])
        wanted = fields.truth("logprobs")
        top = fields.whole("top_logprobs", 0, self._tops(fields, "top_logprobs"))
        if top is not None and not wanted:
            raise ApiError(400, "top_logprobs: needs `logprobs` to be true", "top_logprobs")
        if wanted:
            self._tops(fields, "logprobs")
        return self._asked(
            fields,
            tokens,
            text,
            self._most_of_chat(fields, len(tokens)),
            template.stops,
            (top or 0) if wanted else None,
        )

    @property
    def _most(self) -> int:
        """New tokens of any request."""
        return min(self.context - 1, self.limits.new or self.context)

    def _model(self, fields: Fields) -> None:
        if fields.any("model") is None:
            raise ApiError(400, f"model is missing: send {self.served.name!r}", "model")
        name = fields.text("model")
        if name != self.served.name:
            raise ApiError(
                404,
                f"there is no model {name[:60]!r}; there is {self.served.name!r}",
                "model",
                "model_not_found",
            )

    def _prompt(self, fields: Fields) -> tuple[tuple[int, ...], str | None]:
        value = fields.any("prompt")
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, list)):
            value = value[0]
        if value is None:
            value = ""
        if isinstance(value, str):
            text = checked(value, "prompt")
            return self._encoded(text, "prompt"), text
        if not isinstance(value, list) or not all(type(token) is int for token in value):
            raise ApiError(
                400,
                "prompt should be a string or a list of tokens, one prompt in a request",
                "prompt",
            )
        self._check_length(len(value), "prompt")
        return tuple(value), None

    def _encoded(self, text: str, name: str) -> tuple[int, ...]:
        # Before it is encoded, which takes a while for what is far too long.
        self._check_length(-(-len(text.encode()) // self.served.longest), name)
        tokens = (*self.served.opening, *self.served.texts.encode(text))
        self._check_length(len(tokens), name)
        return tokens

    def _check_length(self, tokens: int, name: str) -> None:
        most = min(self.context - 1, self.limits.prompt or self.context)
        if tokens > most:
            raise ApiError(
                400,
                f"{name}: has {tokens} tokens or more; {most} are served: shorten it",
                name,
                "context_length_exceeded",
            )

    def _most_of_chat(self, fields: Fields, tokens: int) -> int:
        old = fields.whole("max_tokens", 1, self._most)
        new = fields.whole("max_completion_tokens", 1, self._most)
        if old is not None and new is not None and old != new:
            raise ApiError(
                400, "max_tokens: give max_completion_tokens alone, which says it", "max_tokens"
            )
        found = new if new is not None else old
        return min(self._most, self.context - tokens) if found is None else found

    def _tops(self, fields: Fields, name: str) -> int:
        """How many can be asked for. Raises ApiError where any are asked for and none go out."""
        value = fields.any(name)
        if self.served.tops is None and value is not None and value is not False:
            raise ApiError(
                400, f"{name}: this round gives no log probabilities: leave it out", name
            )
        return self.served.tops or 0

    def _asked(
        self,
        fields: Fields,
        tokens: tuple[int, ...],
        text: str | None,
        most: int | None,
        stops: tuple[str, ...],
        logprobs: int | None,
    ) -> Asked:
        stream = fields.truth("stream")
        usage = _usage(fields, stream)
        fields.only("presence_penalty", 0, 0.0)
        fields.only("frequency_penalty", 0, 0.0)
        fields.only("logit_bias", {})
        fields.ignored(IGNORED)
        assert most is not None
        prompt = Prompt(
            tokens,
            most,
            _sampling(fields),
            self.served.stop,
            (*stops, *_stops(fields)),
            logprobs,
            deadline=self.limits.deadline,
        )
        fields.end()
        if len(tokens) + most > self.context:
            raise ApiError(
                400,
                f"a prompt of {len(tokens)} tokens that asks for {most} more; the context is "
                f"{self.context}: shorten it, or ask for fewer new tokens",
                None,
                "context_length_exceeded",
            )
        return Asked(prompt, text, stream, usage)


def _sampling(fields: Fields) -> Sampling:
    temperature = fields.number("temperature", 0, 2, 1)
    top_p = fields.number("top_p", 0, 1, 1)
    top_k = fields.whole("top_k", 0, 1 << 20, 0) or 0
    seed = fields.whole("seed", -SEEDS, SEEDS - 1)
    if seed is None:
        seed = secrets.randbits(63)
    return Sampling(temperature, top_k, top_p, seed)


def _usage(fields: Fields, stream: bool) -> bool:
    value = fields.any("stream_options")
    if value is None:
        return False
    if not stream:
        raise ApiError(400, "stream_options: are for a stream", "stream_options")
    options = Fields(value, "stream_options.")
    found = options.truth("include_usage")
    options.only("include_obfuscation", False)
    options.end()
    return found


def _stops(fields: Fields) -> tuple[str, ...]:
    value = fields.any("stop")
    stops = [] if value is None else value if isinstance(value, list) else [value]
    if len(stops) > MOST_STOPS:
        raise ApiError(
            400, f"stop: has {len(stops)} strings; up to {MOST_STOPS} are looked for", "stop"
        )
    for stop in stops:
        if not isinstance(stop, str) or not 1 <= len(stop) <= LONGEST_STOP:
            raise ApiError(
                400,
                f"stop: should be a string of 1 to {LONGEST_STOP} letters, or a list of them",
                "stop",
            )
        checked(stop, "stop")
    return tuple(stops)


def _messages(fields: Fields) -> list[Message]:
    value = fields.any("messages")
    if not isinstance(value, list) or not value:
        raise ApiError(400, "messages should be a list of one message or more", "messages")
    return [_message(one, f"messages[{number}]") for number, one in enumerate(value)]


def _message(value: object, place: str) -> Message:
    fields = Fields(value, f"{place}.")
    role = fields.text("role")
    if role not in ROLES:
        raise fields.wrong("role", f"should be {', '.join(ROLES[:-1])} or {ROLES[-1]}")
    content = _content(fields.any("content"), f"{place}.content")
    fields.ignored(("name",))
    for name in ("refusal", "audio", "function_call", "annotations"):
        fields.only(name)
    fields.only("tool_calls", [])
    fields.end()
    return Message("system" if role == "developer" else role, content)


def _content(value: Any, place: str) -> str:
    if isinstance(value, str):
        return checked(value, place)
    if not isinstance(value, list):
        raise ApiError(400, f"{place} should be a string", place)
    texts = []
    for number, part in enumerate(value):
        fields = Fields(part, f"{place}[{number}].")
        if fields.text("type") != "text":
            raise fields.wrong("type", 'should be "text": this model reads nothing else')
        texts.append(fields.text("text"))
        fields.end()
    return "".join(texts)
