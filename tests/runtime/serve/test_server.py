"""What a server answers, over a decoder without a model: every path, every refusal, and its end."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import logging
import resource
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from drawing.counted import Counted, counted, plain
from plait import Prompt
from plait.runtime.engine.piece import End, Logprob, Piece
from plait.runtime.serve.app import Paths
from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.fields import Fields
from plait.runtime.serve.log import Lines, log_lines
from plait.runtime.serve.replies import Completion
from plait.runtime.serve.served import Limits, Served
from serving.events import asked, events, status_of
from serving.hosted import Gated, Hosted, Letters, hosted

MODEL = {"model": "counted"}
LETTERS = Letters()


def text_of(*tokens: int, most: int) -> str:
    return LETTERS.decode(plain(Prompt(tokens, most)))


def parts(host: Hosted, path: str, body: dict[str, Any]) -> list[Any]:
    """The events of a stream, None for the mark of the end."""

    async def read() -> list[Any]:
        async with asked(host.port, json.dumps(body).encode(), path) as reader:
            assert await status_of(reader) == 200
            return [event async for event in events(reader)]

    return asyncio.run(read())


def until(so: Callable[[], object]) -> None:
    """Waits for something to be so."""
    end = time.monotonic() + 30
    while not so():
        assert time.monotonic() < end
        time.sleep(0.005)


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    found = [json.loads(Lines().format(one)) for one in caplog.records if one.name == "plait.serve"]
    for one in found:
        del one["time"]
    return found


def test_a_completion_is_answered_whole_and_in_parts() -> None:
    """Tokens in, text out, what was used, and the parts of a stream are the whole."""
    body = {**MODEL, "prompt": [1, 2], "max_tokens": 9}
    with hosted() as host:
        status, whole = host.post("/v1/completions", body)
        stream = parts(host, "/v1/completions", {**body, "stream": True})
        with_usage = {**body, "stream": True, "stream_options": {"include_usage": True}}
        used = parts(host, "/v1/completions", with_usage)
        assert (
            host.post("/v1/completions", {**body, "prompt": [[1, 2]]})[1]["usage"] == whole["usage"]
        )
    assert status == 200 and whole["object"] == "text_completion"
    choice = {
        "index": 0,
        "text": text_of(1, 2, most=9),
        "logprobs": None,
        "finish_reason": "length",
    }
    assert whole["choices"] == [choice]
    usage = {"prompt_tokens": 2, "completion_tokens": 9, "total_tokens": 11}
    assert whole["usage"] == usage | {"prompt_tokens_details": {"cached_tokens": 0}}
    assert stream.pop() is None and not any("usage" in part for part in stream)
    assert "".join(part["choices"][0]["text"] for part in stream) == text_of(1, 2, most=9)
    reasons = [part["choices"][0]["finish_reason"] for part in stream]
    assert reasons == [None] * (len(stream) - 1) + ["length"]
    assert (used[-1], used[-2]["choices"], used[-2]["usage"]) == (None, [], whole["usage"])
    assert all(part["usage"] is None for part in used[:-2])


def test_a_chat_begins_with_its_role() -> None:
    """The first part says who speaks, the last why they stopped; content may come as parts of text."""
    content = [{"type": "text", "text": "How "}, {"type": "text", "text": "so?"}]
    body = {**MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": 5}
    with hosted() as host:
        whole = host.post("/v1/chat/completions", body)[1]
        stream = parts(host, "/v1/chat/completions", {**body, "stream": True})
    text = "# user:\n#   How so?\n# assistant:\n"
    wanted = text_of(*LETTERS.encode(text), most=5)
    said = {"role": "assistant", "content": wanted, "refusal": None}
    assert whole["choices"][0]["message"] == said
    deltas = [part["choices"][0]["delta"] for part in stream[:-1]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == wanted


def test_it_ends_before_a_stop_text() -> None:
    """Cut where the text begins, across tokens and parts, and the reason is said."""
    wanted = text_of(5, most=40)
    stop = wanted[20:23]
    body = {**MODEL, "prompt": [5], "max_tokens": 40, "stop": ["never", stop]}
    with hosted() as host:
        choice = host.post("/v1/completions", body)[1]["choices"][0]
        stream = parts(host, "/v1/completions", {**body, "stream": True})
    assert (choice["text"], choice["finish_reason"]) == (wanted[: wanted.index(stop)], "stop")
    assert "".join(part["choices"][0]["text"] for part in stream[:-1]) == choice["text"]
    assert stream[-2]["choices"][0]["finish_reason"] == "stop"


COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
HELLO = [{"role": "user", "content": "hello"}]


def test_what_is_wrong_is_said_in_the_api_s_own_form() -> None:
    """One error, the field it is about, and what would do."""
    asked: list[tuple[str, Any, int, str | None, str]] = [
        (COMPLETIONS, b"{", 400, None, "the body is not JSON (line 1, column 2: Expecting property name "
         "enclosed in double quotes)"),
        (COMPLETIONS, b"\xff", 400, None, "the body is not UTF-8 text (byte 0)"),
        (COMPLETIONS, b"[" * 9000, 400, None,
         "the body is no JSON that is read: too deep, or a number that is none or too long"),
        (COMPLETIONS, b'{"seed": NaN}', 400, None,
         "the body is no JSON that is read: too deep, or a number that is none or too long"),
        (COMPLETIONS, b'{"seed": 1, "n": 1, "seed": 2}', 400, "seed",
         "seed: is given twice, and only one of them can count"),
        (COMPLETIONS, [], 400, None, "the body should be a JSON object"),
        (COMPLETIONS, {}, 400, "model", "model is missing: send 'counted'"),
        (COMPLETIONS, {"model": 7}, 400, "model", "model (7) should be a string"),
        (COMPLETIONS, {"model": "x"}, 404, "model", "there is no model 'x'; there is 'counted'"),
        (COMPLETIONS, MODEL | {"prompt": ["a", "b"]}, 400, "prompt",
         "prompt should be a string or a list of tokens, one prompt in a request"),
        (COMPLETIONS, MODEL | {"prompt": [97]}, 400, None, "token 97: there are tokens 0 to 96"),
        (COMPLETIONS, MODEL | {"prompt": "\ud800"}, 400, "prompt",
         "prompt: has half a surrogate pair (\\ud800 to \\udfff), so is no text"),
        (COMPLETIONS, MODEL | {"prompt": "a" * 80}, 400, "prompt",
         "prompt: has 80 tokens or more; 64 are served: shorten it"),
        (COMPLETIONS, MODEL | {"max_tokens": 0}, 400, "max_tokens",
         "max_tokens (0) should be a whole number from 1 to 4095"),
        (COMPLETIONS, MODEL | {"temperature": "hot"}, 400, "temperature",
         'temperature ("hot") should be a number from 0 to 2'),
        (COMPLETIONS, MODEL | {"top_p": True}, 400, "top_p", "top_p (true) should be a number from 0 to 1"),
        (COMPLETIONS, MODEL | {"seed": 1 << 63}, 400, "seed", "seed (9223372036854775808) should be a whole "
         "number from -9223372036854775808 to 9223372036854775807"),
        (COMPLETIONS, MODEL | {"n": 2}, 400, "n", "n (2) is not supported: leave it out, or 1"),
        (COMPLETIONS, MODEL | {"echo": True}, 400, "echo",
         "echo (true) is not supported: leave it out, or false"),
        (COMPLETIONS, MODEL | {"stop": ["a", ""]}, 400, "stop",
         "stop: should be a string of 1 to 256 letters, or a list of them"),
        (COMPLETIONS, MODEL | {"stop": ["a"] * 17}, 400, "stop",
         "stop: has 17 strings; up to 16 are looked for"),
        (COMPLETIONS, MODEL | {"logprobs": 1}, 400, "logprobs",
         "logprobs: this round gives no log probabilities: leave it out"),
        (COMPLETIONS, MODEL | {"stream_options": {}}, 400, "stream_options",
         "stream_options: are for a stream"),
        (COMPLETIONS, MODEL | {"prompt": [1], "max_tokens": 4095, "top_n\x1b[2J": 1}, 400,
         "top_n\x1b[2J", "top_n\x1b[2J: there is no such parameter; there are best_of, echo, "
         "frequency_penalty, logit_bias, logprobs, max_tokens, metadata, model, n, presence_penalty, "
         "prompt, prompt_cache_key, safety_identifier, seed, service_tier, stop, store, stream, "
         "stream_options, suffix, temperature, top_k, top_p, user"),
        (COMPLETIONS, MODEL | {"prompt": [1] * 9, "max_tokens": 4090}, 400, None,
         "a prompt of 9 tokens that asks for 4090 more; the context is 4096: shorten it, or ask for fewer "
         "new tokens"),
        (CHAT, MODEL | {"messages": [{"role": "user", "content": "", "\ud800": 1}]}, 400,
         "messages[0].\\ud800", "messages[0].\\ud800: there is no such parameter; there are annotations, "
         "audio, content, function_call, name, refusal, role, tool_calls"),
        (CHAT, MODEL, 400, "messages", "messages should be a list of one message or more"),
        (CHAT, MODEL | {"messages": ["hello"]}, 400, "messages[0]",
         "messages[0] should be a JSON object"),
        (CHAT, MODEL | {"messages": [{"role": "tool"}]}, 400, "messages[0].role",
         'messages[0].role ("tool") should be system, developer, user or assistant'),
        (CHAT, MODEL | {"messages": [{"role": "user"}]}, 400, "messages[0].content",
         "messages[0].content should be a string"),
        (CHAT, MODEL | {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400,
         "messages[0].content[0].type",
         'messages[0].content[0].type ("image_url") should be "text": this model reads nothing else'),
        (CHAT, MODEL | {"messages": HELLO, "top_logprobs": 0}, 400, "top_logprobs",
         "top_logprobs: this round gives no log probabilities: leave it out"),
        (CHAT, MODEL | {"messages": HELLO, "max_tokens": 1, "max_completion_tokens": 2}, 400,
         "max_tokens", "max_tokens: give max_completion_tokens alone, which says it"),
        (CHAT, MODEL | {"messages": HELLO, "tools": [{}]}, 400, "tools",
         "tools ([{}]) is not supported: leave it out, or []"),
        ("/v1/nothing", {}, 404, None, "there is no such path: POST /v1/nothing"),
        ("/v1/completions/", {}, 404, None, "there is no such path: POST /v1/completions/"),
        ("/v1/models", {}, 405, None, "this path takes another method: POST /v1/models"),
        (COMPLETIONS, b"[" + b" " * 40_000, 413, None, "the body has more than 30000 bytes: shorten it"),
    ]  # fmt: skip
    with hosted(limits=Limits(body=30_000, prompt=64)) as host:
        for path, body, status, param, message in asked:
            found, answer = host.post(path, body)
            assert (found, answer["error"]["message"]) == (status, message)
            assert answer["error"]["param"] == param
            assert answer["error"]["type"] == "invalid_request_error"
        plain_text = host.post(COMPLETIONS, MODEL, **{"Content-Type": "text/plain"})
        assert plain_text[0] == 415


def test_no_depth_of_a_body_is_too_deep_to_be_refused() -> None:
    """What can just be read is refused without being said back, which would go deeper still."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ApiError, match=r"'n \(\.\.\.\) is not supported: leave it out, or 1'"):
        Fields({"n": value}).only("n", 1)


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """A client that sends half of it is told so, and its connection is closed."""
    with hosted(limits=Limits(patience=0.1)) as host:
        with socket.create_connection(("127.0.0.1", host.port), timeout=30) as client:
            client.sendall(
                b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                b"Content-Type: application/json\r\n\r\n{"
            )
            answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 408") and b"the body did not come within 0.1 s" in answer


@pytest.mark.parametrize("head", [b"", b"GET / HT"])
@pytest.mark.parametrize("first", [True, False])
def test_a_head_that_does_not_come_is_not_waited_for(head: bytes, first: bool) -> None:
    """Who asks for nothing, or for half of something, holds no connection; first or later on it."""
    with hosted(limits=Limits(patience=0.2)) as host:
        with socket.create_connection(("127.0.0.1", host.port), timeout=4) as client:
            if not first:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = b""
                while not answer.endswith(b"}"):
                    answer += client.recv(1 << 16)
                head = head or b"G"
            client.sendall(head)
            with suppress(ConnectionResetError):
                assert client.recv(1 << 16) == b""
        assert host.get("/healthz")[0] == 200


def streaming(**fields: Any) -> bytes:
    """A request for a completion, as it goes over a connection of its own."""
    body = json.dumps({**MODEL, "prompt": "a", "stream": True, **fields}).encode()
    head = (
        "POST /v1/completions HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.mark.parametrize("tokens", [100, 4000])
def test_a_client_that_takes_nothing_of_its_answer_is_cut_off(
    tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    """While it is made, which then ends as cancelled, or when all of it waits to be taken."""
    caplog.set_level(logging.INFO, "plait.serve")
    with hosted(limits=Limits(patience=0.3)) as host:
        with host.connect(streaming(max_tokens=tokens)):
            until(lambda: host.server._uvicorn.server_state.connections)
            until(lambda: not host.server._uvicorn.server_state.connections)
        until(lambda: any("end" in line for line in lines(caplog)))
        assert host.get("/healthz")[0] == 200
    (ended,) = [line for line in lines(caplog) if "end" in line]
    assert (ended["end"], ended["status"]) == (
        ("cancelled", 499) if tokens == 4000 else ("length", 200)
    )


def test_a_client_that_reads_slowly_has_all_of_its_answer() -> None:
    """However much longer that takes than one that takes nothing is waited for."""
    with hosted(limits=Limits(patience=0.8)) as host:
        with host.connect(streaming(max_tokens=100)) as client:
            start, answer = time.monotonic(), b""
            while part := client.recv(2000):
                answer += part
                time.sleep(0.25)
    given = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith(b"data: {")]
    assert sum(len(one["choices"][0]["text"]) for one in given) == 100
    assert b"data: [DONE]" in answer
    assert time.monotonic() - start > host.service.limits.patience


def test_connections_leave_files_to_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come at once: what is more than half of the files is closed, and the others are heard."""
    monkeypatch.setattr(resource, "getrlimit", lambda what: (64, 64))
    with hosted() as host:
        clients = []
        for _ in range(60):
            clients.append(socket.create_connection(("127.0.0.1", host.port), timeout=30))
            time.sleep(0.002)  # else the machine has them wait, and try again in a second
        until(lambda: len(select.select(clients, [], [], 0)[0]) >= 60 - 9 * 32 // 8)
        for client in clients:
            client.close()
        until(lambda: host.get("/healthz")[0] == 200)


def test_a_connection_too_many_is_told_so_in_the_form_of_the_api(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And is closed, while those that were there before are served on; there is room again when they go."""
    monkeypatch.setattr(resource, "getrlimit", lambda what: (64, 64))
    with hosted() as host:
        first = http.client.HTTPConnection("127.0.0.1", host.port, timeout=30)
        first.request("GET", "/v1/models")
        assert first.getresponse().read()
        address = ("127.0.0.1", host.port)
        others = [socket.create_connection(address, timeout=30) for _ in range(31)]
        there = host.server._uvicorn.server_state.connections
        until(lambda: len(there) == 32)
        status, answer, headers = host.ask("GET", "/v1/models", None)
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert answer["error"] == {
            "message": "there are as many connections as may be: try again",
            "type": "server_error",
            "param": None,
            "code": None,
        }
        first.request("GET", "/v1/models")
        assert first.getresponse().status == 200
        late = http.client.HTTPConnection("127.0.0.1", host.port, timeout=30)
        late.connect()
        until(lambda: len(there) == 33)
        for client in others:
            client.close()
        until(lambda: len(there) == 2)
        late.request("GET", "/v1/models")
        assert late.getresponse().status == 200
        first.close()
        late.close()


@pytest.mark.parametrize(
    ("line", "status"),
    [("GET /healthz", 200), ("GET /nowhere", 404), ("POST /v1/completions", 415)],
)
def test_a_body_that_was_answered_unread_holds_no_connection(line: str, status: int) -> None:
    """However slowly the rest of it comes, of which uvicorn waits for each byte without end."""
    with hosted(limits=Limits(patience=0.3)) as host:
        head = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        with host.connect(head.encode()) as client:
            assert client.recv(1 << 16).startswith(f"HTTP/1.1 {status} ".encode())
            start = time.monotonic()
            with suppress(ConnectionResetError, BrokenPipeError):
                while time.monotonic() - start < 20:
                    client.sendall(b"x")
                    time.sleep(0.05)
        assert time.monotonic() - start < 20


def test_what_is_no_http_behind_an_answer_ends_the_connection_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with hosted() as host, host.connect(head) as client:
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"zzz\r\n\r\n")
        with suppress(ConnectionResetError):
            while client.recv(1 << 16):
                pass
        assert host.get("/healthz")[0] == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_what_is_no_http_is_told_so_in_the_form_of_the_api() -> None:
    with hosted() as host, host.connect(b"one two three\r\n\r\n") as client:
        head, _, body = b"".join(iter(lambda: client.recv(1 << 16), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"application/json" in head
    message = "what came is no HTTP request, or its head is too long"
    assert json.loads(body)["error"]["message"] == message


def test_one_too_many_is_told_when_to_come_again() -> None:
    """429 with Retry-After while all places are taken; then it is served."""
    decoder = Gated(buckets=[1])
    with hosted(decoder, queue=0) as host:

        async def work() -> None:
            body = json.dumps({**MODEL, "prompt": [1], "max_tokens": 5, "stream": True}).encode()
            async with asked(host.port, body) as reader:
                assert await status_of(reader) == 200
                refused = await asyncio.to_thread(
                    host.ask, "POST", COMPLETIONS, MODEL | {"prompt": [2]}
                )
                status, answer, headers = refused
                assert (status, answer["error"]["code"]) == (429, "queue_full")
                assert answer["error"]["type"] == "rate_limit_error"
                assert 1 <= int(headers["retry-after"]) <= 60
                decoder.gate.set()
                assert [event async for event in events(reader)][-1] is None

        asyncio.run(work())
        assert host.post(COMPLETIONS, MODEL | {"prompt": [2]})[0] == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_cancels_its_request(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Streaming or not: its row is free again, and the log has it as cancelled."""
    caplog.set_level(logging.INFO, "plait.serve")
    decoder = Gated(buckets=[1])
    with hosted(decoder) as host:

        async def leave() -> None:
            body = {**MODEL, "prompt": [1], "max_tokens": 4000, "stream": stream}
            async with asked(host.port, json.dumps(body).encode()) as reader:
                if stream:
                    assert await status_of(reader) == 200
                else:
                    await asyncio.to_thread(until, lambda: decoder.rows)

        asyncio.run(leave())
        decoder.gate.set()
        until(lambda: not decoder.rows)
        assert host.post(COMPLETIONS, MODEL | {"prompt": [2]})[0] == 200
    (ended,) = [line for line in lines(caplog) if line.get("end") == "cancelled"]
    assert ended["status"] == 499 and ended["new_tokens"] < 4000


def test_a_token_is_asked_for_where_there_is_one() -> None:
    """On every path but those that a supervisor asks; without one, only its own address is answered to."""
    with hosted(token="secret") as host:
        assert host.get("/v1/models")[0] == host.get("/metrics")[0] == 401
        assert host.get("/v1/models", {"Authorization": "Bearer Secret"})[0] == 401
        assert host.get("/v1/models", {"Authorization": "Bearer secr\xe9t"})[0] == 401
        assert host.get("/healthz") == (200, {"status": "ok"})
        headers = {"Authorization": "Bearer secret", "Host": "elsewhere.example"}
        assert host.get("/v1/models", headers)[1]["data"][0]["id"] == "counted"
    with hosted() as host:
        assert host.get("/v1/models/counted")[1]["id"] == "counted"
        assert host.get("/v1/models/other")[0] == 404
        status, answer = host.get("/v1/models", {"Host": "evil.example:80"})
        assert (status, answer["error"]["message"]) == (
            403,
            "this server has no token, so it answers to its own address only: 127.0.0.1, ::1, localhost",
        )
        assert host.get("/v1/models", {"Host": "[::1]:9"})[0] == 200


def test_told_to_end_it_ends_what_it_has() -> None:
    """A stream goes on to its mark of the end while nobody else is let in."""
    decoder = Gated(buckets=[1])
    with hosted(decoder) as host:

        async def work() -> list[Any]:
            body = json.dumps({**MODEL, "prompt": [1], "max_tokens": 9, "stream": True}).encode()
            async with asked(host.port, body) as reader:
                assert await status_of(reader) == 200
                host.stop()
                await asyncio.to_thread(until, lambda: not host.service.ready)
                with pytest.raises(ConnectionError):
                    while True:
                        (await asyncio.open_connection("127.0.0.1", host.port))[1].close()
                decoder.gate.set()
                return [event async for event in events(reader)]

        found = asyncio.run(work())
        host.thread.join(30)
    assert found[-1] is None and host.peaceful
    assert "".join(part["choices"][0]["text"] for part in found[:-1]) == text_of(1, most=9)


@pytest.mark.parametrize("told", ["twice", "late"])
def test_what_does_not_end_in_time_is_cut_off(told: str) -> None:
    """Told twice, or when its grace is over: an error in the stream, and an end that is not in peace."""
    decoder = Gated(buckets=[1])
    with hosted(decoder, grace=0.0 if told == "late" else 30.0) as host:

        async def work() -> list[Any]:
            body = json.dumps({**MODEL, "prompt": [1], "max_tokens": 4000, "stream": True}).encode()
            async with asked(host.port, body) as reader:
                assert await status_of(reader) == 200
                host.stop()
                if told == "twice":
                    host.stop()
                await asyncio.to_thread(until, lambda: host.service.cut_off)
                decoder.gate.set()
                return [event async for event in events(reader)]

        found = asyncio.run(work())
        host.thread.join(30)
    assert host.peaceful is False
    assert found[-1] == {
        "error": {
            "message": "the server ended before the request did: try again",
            "type": "server_error",
            "param": None,
            "code": None,
        }
    }


def test_a_request_that_fails_says_so() -> None:
    """Before its first token with a status, behind it as an event of its stream; a deadline too."""
    with hosted(Counted(counted(), room=8)) as host:
        status, answer = host.post(
            COMPLETIONS, MODEL | {"prompt": [1], "max_tokens": 9, "stream": True}
        )
        assert status == 500
        assert answer["error"]["message"] == "the request has failed: there is room for 8 tokens"
    decoder = Gated(buckets=[1])
    with hosted(decoder, limits=Limits(deadline=0.05)) as host:

        async def work() -> list[Any]:
            body = json.dumps({**MODEL, "prompt": [1], "max_tokens": 4000, "stream": True}).encode()
            async with asked(host.port, body) as reader:
                assert await status_of(reader) == 200
                await asyncio.sleep(0.06)
                decoder.gate.set()
                return [event async for event in events(reader)]

        assert asyncio.run(work())[-1]["error"]["code"] == "deadline"


def test_an_engine_that_has_failed_ends_the_server() -> None:
    """With what the engine has failed by, so that whoever watches over it starts another; meanwhile health
    and readiness say it."""

    class Broken(Counted):
        def held(self) -> dict[str, int]:
            raise MemoryError("no memory is left")

    with hosted(Broken(counted())) as host:
        assert host.get("/metrics")[0] == 200
        host.thread.join(30)
    assert isinstance(host.failure, MemoryError)
    paths = Paths(host.service)
    for asked_for in (paths.health, paths.readiness):
        with pytest.raises(ApiError) as refused:
            asyncio.run(asked_for(Request({"type": "http"})))
        assert refused.value.status == 503
        assert refused.value.message == "the engine has failed: no memory is left"


def test_the_log_has_a_line_for_every_request(caplog: pytest.LogCaptureFixture) -> None:
    """What was asked for and how it ended, and nothing of the prompt unless that is wanted."""
    caplog.set_level(logging.INFO, "plait.serve")
    for log_prompts in (False, True):
        with hosted(log_prompts=log_prompts) as host:
            host.post(COMPLETIONS, MODEL | {"prompt": "h\u00e9\x1b[2J", "max_tokens": 3})
            host.post(COMPLETIONS, MODEL | {"best": 1})
    found = lines(caplog)
    assert [line["event"] for line in found] == ["ready", "request", "refused", "ended"] * 2
    quiet, loud = found[1], found[5]
    assert loud.pop("prompt") == "h\u00e9\x1b[2J"
    for line in (quiet, loud):
        assert line.pop("id").startswith("cmpl-")
        assert line.pop("seconds") >= line.pop("first_token_s") > 0
        assert line == {
            "level": "info",
            "event": "request",
            "path": "/v1/completions",
            "status": 200,
            "end": "length",
            "stream": False,
            "prompt_tokens": 6,
            "reused_tokens": 0,
            "new_tokens": 3,
        }


def test_nothing_but_json_lines_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asyncio says of a connection that broke is a line as well, or none."""
    names = ("plait", "uvicorn", "asyncio")
    for logger in map(logging.getLogger, names):
        for what in ("handlers", "level", "propagate"):
            monkeypatch.setattr(logger, what, getattr(logger, what))
    file = io.StringIO()
    log_lines(file)
    for name in names:
        logging.getLogger(name).error("from\n%s", name)
    logging.getLogger("asyncio").warning("socket.send() raised exception.")
    found = [json.loads(line)["event"] for line in file.getvalue().splitlines()]
    assert found == ["from\nplait", "from\nuvicorn", "from\nasyncio"]


def test_a_model_that_gives_no_number_is_answered_in_json() -> None:
    """JSON has neither NaN nor an infinity, and a log probability may be either."""
    reply = Completion("counted", LETTERS, 1, False)
    piece = Piece((1, 2), "ab", (Logprob(nan, ((3, nan),)), Logprob(-inf)), End.LENGTH)
    said = reply.whole(piece)["choices"][0]["logprobs"]
    assert said["token_logprobs"] == [-9999.0, -9999.0]
    json.dumps(said, allow_nan=False)


def test_metrics_are_those_of_what_ran() -> None:
    """Rounds by bucket and settings, rows that only pad, accepted tokens, requests by how they ended."""
    with hosted(served=replace(Served("counted", LETTERS), template=None)) as host:
        for first in range(3):
            host.post(COMPLETIONS, MODEL | {"prompt": [first], "max_tokens": 20})
        assert host.post(CHAT, MODEL | {"messages": HELLO})[0] == 404
        text = host.get("/metrics")[1]
    found = {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    one = (("bucket", "1"),)
    (rounds,) = [value for (name, _), value in found.items() if name == "plait_rounds_total"]
    assert found["plait_rows_total", one] == found["plait_round_seconds_count", one] == rounds
    assert found["plait_padding_rows_total", one] == 0
    assert found["plait_requests_total", (("end", "length"),)] == 3
    assert found["plait_tokens_total", (("kind", "new"),)] == 60
    assert found["plait_accepted_length_count", ()] == rounds
    assert found["plait_accepted_length_sum", ()] >= 57
    assert found["plait_first_token_seconds_count", ()] == 3
    assert found["plait_between_tokens_seconds_count", ()] == 57
    assert found["plait_request_seconds_count", ()] == 3
    assert found["plait_held", (("what", "rows"),)] == 0
    assert 0 <= found["plait_exposed_seconds_total", ()] <= found["plait_traced_seconds_total", ()]
    answered = (("path", "/v1/completions"), ("status", "200"))
    assert found["plait_http_responses_total", answered] == 3
