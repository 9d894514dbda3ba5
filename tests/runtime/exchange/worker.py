"""One rank of an expert-parallel run: decodes its requests in each of the cases, and says what came of it.

Run by torchrun: `worker.py SCHEDULE OUT`. Every rank holds its logits against one rank that has all experts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.parallel import Parallel
from plait.runtime.eagle.plain import Plain
from plait.runtime.exchange.distributed import Distributed
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.ranks.environment import from_environment
from plait.runtime.schedule_reader import from_json

CASES = {
    "all busy": ([2, 1, 1, 2], None),
    "one idle": ([1, 0, 2, 1], None),
    "one unwilling": ([2, 1, 0, 1], 1),
}
"""By name, the requests of each rank, and the rank that does not want its graph."""
TOKENS = 8


def main(schedule_file: str, out: str) -> None:
    torch.set_num_threads(1)
    schedule = from_json(Path(schedule_file).read_text(encoding="utf-8"))
    ranks = from_environment(schedule, seconds=60)
    rank = dist.get_rank()
    checkpoint = load_checkpoint()
    texts = [checkpoint.prompts[3 * rank][:40], checkpoint.prompts[3 * rank + 1][:60]]

    def requests(count: int) -> list:
        return requests_for(checkpoint, texts[:count], TOKENS)

    parallel = Parallel(
        schedule, checkpoint.model("exact"), requests(2), ranks=ranks, keep_logits=True
    )
    assert _two_in_flight(parallel.exchange)
    alone = Plain(checkpoint.model("exact"), requests(2), [2], captured=False, keep_logits=True)
    found = {}
    for name, (counts, unwilling) in CASES.items():
        own, judge = requests(counts[rank]), requests(counts[rank])
        parallel.waiting, alone.waiting = own[::-1], judge[::-1]
        parallel.willing = rank != unwilling
        before = parallel.runner.counts()
        while parallel.advance(4):
            pass
        while alone.advance(8):
            pass
        found[name] = {
            "tokens": [len(request.tokens) for request in own],
            "same": all(_same(one, other) for one, other in zip(own, judge, strict=True)),
            "rounds": {
                str(now["route"]["graph"]): now["rounds"] - then["rounds"]
                for now, then in zip(parallel.runner.counts(), before, strict=True)
            },
        }
    Path(out, f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    parallel.close()


def _two_in_flight(exchange: Distributed) -> bool:
    """Whether two exchanges that are sent before either is received bring what each brings by itself."""
    rows = torch.arange(2.0 * exchange.sizes.hidden).view(2, -1)
    ids = torch.tensor([[0, 7], [5, -1]])
    flights = [exchange.send(rows + number, ids) for number in range(2)]
    received = [flight.receive().rows for flight in flights]
    return all(
        torch.equal(one, exchange.exchange(rows + number, ids).rows)
        for number, one in enumerate(received)
    )


def _same(one, other) -> bool:
    """Whether two requests have the same tokens, and for each the same logits, bit for bit."""
    pairs = zip(one.logits, other.logits, strict=True)
    return one.tokens == other.tokens and all(torch.equal(a, b) for a, b in pairs)


if __name__ == "__main__":
    main(*sys.argv[1:])
