"""`plait serve`: decodes for clients over HTTP, in the form of OpenAI's API."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_device, add_spec_arguments, compiled
from plait.commands.following import exchanges, follow_first, parallel_decoder
from plait.commands.refusing import refusing_runs
from plait.exit import DIFFERS, FINE, WRONG_ENVIRONMENT, Refused

if TYPE_CHECKING:
    import socket

    from plait.runtime.ranks.group import Ranks
    from plait.runtime.schedule import Schedule
    from plait.runtime.serve.service import Service

DESCRIPTION = (
    "Serve a model that comes with Plait over HTTP, decoding with a compiled round: /v1/completions and "
    "/v1/chat/completions in the form of OpenAI's API, /v1/models, /healthz, /readyz, /metrics, and at / a "
    "page that shows the rounds as they run. SIGTERM or Ctrl-C ends it when the requests under way have "
    "ended: exit 0, or 1 when some were cut off."
)
EXAMPLE = "for example: `plait serve examples/service.spec --set num_steps=3 --port 8080`"
TOKEN = "PLAIT_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec",
        metavar="SPEC",
        nargs="?",
        default="examples/service.spec",
        help="a .spec file, SPEC@VARIANT, or a schedule's .json; default examples/service.spec",
    )
    listens = parser.add_argument_group("where it listens")
    listens.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; default 127.0.0.1; one that other machines reach needs a token",
    )
    listens.add_argument(
        "--port", type=int, default=8000, metavar="N", help="default 8000; 0: any that is free"
    )
    listens.add_argument(
        "--token",
        help=f"what clients must bring as their API key; better in {TOKEN} than where `ps` shows it",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--queue",
        type=int,
        default=64,
        metavar="N",
        help="requests that may wait, one more is answered 429; default 64",
    )
    limits.add_argument(
        "--max-body",
        type=int,
        default=1 << 18,
        metavar="BYTES",
        help="of a request's body; default 262144",
    )
    limits.add_argument(
        "--max-prompt-tokens", type=int, metavar="N", help="default: the model's context"
    )
    limits.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="default: the model's context"
    )
    limits.add_argument(
        "--deadline", type=float, metavar="S", help="seconds a request may take; default: no limit"
    )
    limits.add_argument(
        "--grace",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds that requests under way have to end in after SIGTERM; default 30",
    )
    parser.add_argument(
        "--mode",
        choices=("exact", "f32"),
        default="f32",
        help="f32 (default), or exact: slower, and the same bits whatever shares the batch",
    )
    add_device(parser)
    parser.add_argument(
        "--pages",
        type=int,
        metavar="N",
        help="pages in the key/value cache; default: enough for a full batch of the longest requests",
    )
    parser.add_argument(
        "--lazily",
        dest="prepare",
        action="store_false",
        help="capture a bucket when a round first needs it, not all of them at the start",
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="tiny (default), small-llama, or a folder with another checkpoint of either",
    )
    parser.add_argument(
        "--name", default="plait-tiny", help="what clients call the model; default plait-tiny"
    )
    parser.add_argument(
        "--no-trace",
        dest="trace",
        action="store_false",
        help="keep no times of phases: no timeline and no exposed time; needed off the CPU",
    )
    parser.add_argument(
        "--log-prompts", action="store_true", help="write prompts into the log as well"
    )
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    import prometheus_client  # noqa: F401  before anything takes long
    import uvicorn  # noqa: F401

    from plait.runtime.ranks.environment import launched, rank_launched

    token = _token(options)
    _check(options)
    schedule = compiled(options, options.spec)
    if not launched():
        return _serve_requests(options, schedule, token, None)
    rank = rank_launched()
    try:
        if rank:
            return follow_first(options, schedule, rank)
        return _serve_requests(options, schedule, token, rank)
    except Refused as refused:
        raise Refused(f"rank {rank}: {refused}", refused.code) from None


def _serve_requests(
    options: argparse.Namespace, schedule: Schedule, token: str | None, rank: int | None
) -> int:
    from plait.runtime.serve.log import log_lines

    made = _listening(options, token)
    try:
        service = _service(options, schedule)
        log_lines(sys.stderr, rank)
        return asyncio.run(_serve(options, service, made, token))
    finally:
        made.close()


async def _serve(
    options: argparse.Namespace, service: Service, made: socket.socket, token: str | None
) -> int:
    from plait.runtime.serve.address import url_of
    from plait.runtime.serve.serving import Server

    hosts = {"localhost", "127.0.0.1", "::1", options.host.lower()}
    server = Server(service, token=token, hosts=hosts, grace=options.grace)
    print(f"plait serve: {options.name} on {url_of(made)}/v1", flush=True)
    with refusing_runs():
        return FINE if await server.run(made, signals=True) else DIFFERS


def _service(options: argparse.Namespace, schedule: Schedule) -> Service:
    import torch

    from plait.runtime.eagle.forms import decoder_of
    from plait.runtime.engine.engine import Engine
    from plait.runtime.models.shipped import load
    from plait.runtime.ranks.environment import launched
    from plait.runtime.serve.metrics import Metrics
    from plait.runtime.serve.page.feed import Feed
    from plait.runtime.serve.served import Limits, served_tiny
    from plait.runtime.serve.service import Service

    torch.set_num_threads(1)
    with refusing_runs():
        _see_device(options)
        checkpoint = load(options.model)
        ranks: Ranks | None = None
        if exchanges(schedule) or launched():
            decoder, ranks = parallel_decoder(options, schedule, checkpoint)
        else:
            decoder = decoder_of(schedule, checkpoint.model(options.mode), pages=options.pages)
    served = served_tiny(options.name, checkpoint.tokenizer, checkpoint.shape.bos, schedule)
    metrics, feed = Metrics(), Feed()
    engine = Engine(
        decoder,
        device=options.device,
        queue=options.queue,
        decode=checkpoint.tokenizer.decode,
        observers=[metrics, feed],
        prepare=options.prepare,
        trace=options.trace,
        ranks=ranks,
    )
    limits = Limits(
        options.max_body,
        options.max_prompt_tokens,
        options.max_new_tokens,
        deadline=options.deadline,
    )
    return Service(engine, served, metrics, limits, options.log_prompts, feed)


def _see_device(options: argparse.Namespace) -> None:
    """Raises DeviceError for a device that is not here, Refused for one that keeps no times."""
    from plait.runtime.devices.named import device

    if options.device != "cpu":
        device(options.device)
        if options.trace:
            raise Refused(f"--device {options.device}: keeps no times of phases: add --no-trace")


def _token(options: argparse.Namespace) -> str | None:
    token = os.environ.get(TOKEN) if options.token is None else options.token
    where = TOKEN if options.token is None else "--token"
    if token is not None and not (token and token.isascii() and token.isprintable()):
        raise Refused(f"{where}: should be letters, digits and signs of ASCII, at least one")
    return token


def _check(options: argparse.Namespace) -> None:
    """Raises Refused for a number that cannot be."""
    least = {"queue": 0, "max_body": 1, "max_prompt_tokens": 1, "max_new_tokens": 1, "pages": 2}
    for name, from_here in least.items():
        value = getattr(options, name)
        if value is not None and value < from_here:
            raise Refused(f"--{name.replace('_', '-')} {value}: should be from {from_here}")
    for name in ("deadline", "grace"):
        value = getattr(options, name)
        if value is not None and not 0 <= value <= 86_400:
            raise Refused(f"--{name} {value:g}: should be seconds, from 0 to 86400")
    if not (options.name and options.name.isprintable()):
        raise Refused("--name: should be letters, digits and signs, at least one")
    if not 0 <= options.port < 1 << 16:
        raise Refused(f"--port {options.port}: should be from 0 to {(1 << 16) - 1}")


def _listening(options: argparse.Namespace, token: str | None) -> socket.socket:
    from plait.runtime.serve.address import AddressError, is_loopback, listening

    try:
        if token is None and not is_loopback(options.host):
            raise Refused(
                f"--host {options.host}: other machines reach it, so it needs a token: set {TOKEN}"
            )
        return listening(options.host, options.port)
    except AddressError as error:
        raise Refused(f"--host {error}", WRONG_ENVIRONMENT) from None
