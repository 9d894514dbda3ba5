"""A service with an engine in it: GET /continue/40?text=... streams a line of JSON for each piece."""

import json
from contextlib import asynccontextmanager

import plait
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.routing import Route

START, TEXTS = (checkpoint := load_checkpoint()).shape.bos, checkpoint.tokenizer
schedule = plait.compile("examples/service.spec", settings={"buckets": [1, 4]})
engine = plait.Engine(TinyDecoder(schedule, checkpoint.model("exact")), decode=TEXTS.decode)


async def go_on(request):
    tokens = START, *TEXTS.encode(request.query_params.get("text", ""))
    prompt = plait.Prompt(tokens, request.path_params["count"], stop_tokens=frozenset({START}))
    try:
        stream = engine.submit(prompt)
    except plait.RequestError as error:
        raise HTTPException(400, str(error)) from None
    except plait.QueueFull as error:
        raise HTTPException(429, str(error), {"Retry-After": "1"}) from None
    # Nothing else holds the stream: when the client has left, it goes, and the request is cancelled.
    lines = (json.dumps(vars(piece)) + "\n" async for piece in stream)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@asynccontextmanager
async def lifespan(app):
    async with engine:  # left when uvicorn is told to end, and drained then
        yield


app = Starlette(routes=[Route("/continue/{count:int}", go_on)], lifespan=lifespan)
