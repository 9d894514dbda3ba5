"""EAGLE rounds on the embedded model: plain decoding's tokens and logits, bit for bit."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import product

import pytest
import torch

from plait.dsl.span import Source
from plait.runtime.eagle.compare import decode, distinct_ratio, report, requests_for
from plait.runtime.eagle.request import RequestError
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.engine.taken import check_taken
from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint
from plait.runtime.runner import BindError

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint()


@pytest.fixture(scope="module")
def models(checkpoint: Checkpoint):
    return {mode: checkpoint.model(mode) for mode in ("exact", "f32")}


def prompts(checkpoint: Checkpoint, count: int, tokens: int = 12) -> list[str]:
    """Held-out prompts of different lengths."""
    texts = (checkpoint.prompts * 2)[:count]
    ids = [checkpoint.tokenizer.encode(t)[: tokens + n] for n, t in enumerate(texts)]
    return [checkpoint.tokenizer.decode(one) for one in ids]


# Steps, requests, captured, planning on a stream of its own: every pair of values of two of them.
GRID = [
    (steps, count, (i ^ (j >> 1)) % 2 == 0, ((i >> 1) ^ j) % 2 == 0)
    for (i, steps), (j, count) in product(enumerate((1, 2, 3, 4)), enumerate((1, 2, 3, 5, 8)))
]


@pytest.mark.parametrize(("steps", "count", "captured", "plan"), GRID)
def test_logits_equal_plain_decoding(
    steps, count, captured, plan, eagle, compiled, checkpoint, models
) -> None:
    """Every new token's logits, speculative against plain, whatever shares the batch."""
    settings = {"num_steps": steps, "overlap_plan": plan}
    schedule = compiled(eagle, settings=settings, capture=captured)
    texts = prompts(checkpoint, count)
    outcome = decode(
        schedule,
        models["exact"],
        lambda: requests_for(checkpoint, texts, 14),
        captured=not captured,  # plain decoding the other way: eager and captured agree too
        keep_logits=True,
    )
    assert outcome.identical and outcome.plain is not None
    for one, other in zip(outcome.requests, outcome.plain, strict=True):
        assert len(one.logits) == len(other.logits) == len(one.tokens)
        assert all(torch.equal(a, b) for a, b in zip(one.logits, other.logits, strict=True))


def test_the_grid_has_every_pair() -> None:
    """Each step count meets both routes and both stream layouts; each request count too."""
    for first, second in ((0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        pairs = {(row[first], row[second]) for row in GRID}
        values = [{row[column] for row in GRID} for column in (first, second)]
        assert len(pairs) == len(values[0]) * len(values[1]), (first, second)


@pytest.fixture(scope="module")
def held_out(eagle, compiled, checkpoint, models):
    """All held-out prompts at the default settings, exact, slots refilled as they come free."""
    schedule = compiled(eagle)
    make = lambda: requests_for(checkpoint, list(checkpoint.prompts), 64)  # noqa: E731
    outcome = decode(schedule, models["exact"], make)
    return schedule, outcome, report(outcome, schedule, checkpoint, "exact")


def test_held_out_prompts_are_accepted_and_varied(held_out) -> None:
    """Above two tokens a round at two steps, and the text does not merely repeat."""
    _, _, found = held_out
    assert found["identical_to_plain"] is True
    assert found["accepted_mean"] > 2.0
    assert found["distinct_4gram_ratio"] >= 0.4
    histogram = {int(n): times for n, times in found["accepted_histogram"].items()}
    assert set(histogram) == {1, 2, 3}
    total = sum(n * times for n, times in histogram.items())
    assert found["accepted_mean"] == total / sum(histogram.values())


GOLDEN = "576372a40e0c37da2ba3274bc5b942d5b61b58bfd4cb0132eb2be5123c2e3e86"


def test_the_tokens_are_the_same_everywhere(held_out) -> None:
    """Exact mode gives these tokens on any machine: the digest of all of them."""
    _, outcome, _ = held_out
    text = repr([request.tokens for request in outcome.requests])
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


def test_what_ran_is_what_the_schedule_says(held_out) -> None:
    """Replays of every graph, rows and waits, counted from the graphs that ran."""
    _, outcome, found = held_out
    assert found["widths"] == {"draft": 1, "verify": 3, "extend": 3}
    assert found["waits"] == 6
    rounds = sum(bucket["rounds"] for bucket in outcome.counts)
    for bucket in outcome.counts:
        size = bucket["sizes"]["bs"]
        for name, width in found["widths"].items():
            graph = bucket["graphs"][name]
            assert graph["rows"] == size * width
            assert graph["replays"] == bucket["rounds"]
        if bucket["rounds"]:
            assert bucket["graphs"]["draft"]["phases"] == ["first", "nextn[1]"]
    assert rounds == found["rounds"] == sum(found["buckets"].values())
    live = sum(outcome.speculative.live_rows.values())
    padded = sum(int(size) * times for size, times in found["buckets"].items()) - live
    assert found["rows_padded"] == {"draft": padded, "verify": 3 * padded, "extend": 3 * padded}


def test_slots_do_not_wait_for_each_other(held_out) -> None:
    """Sixteen requests on eight slots: no more rounds than the work of the busiest slots needs."""
    _, _, found = held_out
    request_rounds = sum(found["accepted_histogram"].values())
    # Perfect packing is request_rounds / 8; a request ends one round before the host knows it.
    assert found["rounds"] <= request_rounds / 8 * 1.35 + 16


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_draft_graph_replays_one_forward_less(
    steps, eagle, compiled, checkpoint, models, monkeypatch
) -> None:
    """S - 1 NextN forwards are in the draft graph, counted where the model is called; none at S = 1."""
    calls: list[tuple[str, int]] = []
    model = models["f32"]
    nextn, target = model.nextn, model.target
    monkeypatch.setattr(
        type(model),
        "nextn",
        lambda self, h, t, p, c: calls.append(("nextn", t.numel())) or nextn(h, t, p, c),
    )
    monkeypatch.setattr(
        type(model),
        "target",
        lambda self, t, p, c: calls.append(("target", t.numel())) or target(t, p, c),
    )
    schedule = compiled(eagle, settings={"num_steps": steps})
    requests = requests_for(checkpoint, prompts(checkpoint, 3), 8)
    decoding = Speculative(schedule, model, requests)
    wide = steps + 1  # rows of a request in verify and in draft extend
    expected: Counter[tuple[str, int]] = Counter()
    for bucket in (1, 2, 4):
        expected["target", bucket * wide] += 1
        expected["nextn", bucket * wide] += 1
        expected["nextn", bucket] += steps - 1
    assert Counter(calls) == +expected  # each bucket's graphs, captured once, before any round
    before = len(calls)
    with torch.no_grad():
        while decoding.advance(4):
            pass
    prefills = 3
    assert len(calls) - before == 2 * prefills  # a replay calls no Python of the model
    counts = decoding.runner.counts()
    decoding.close()
    assert any(bucket["rounds"] for bucket in counts)
    assert all(("draft" in bucket["graphs"]) == (steps > 1) for bucket in counts)


def test_one_request_more_than_slots_is_served(eagle, compiled, checkpoint, models) -> None:
    """A ninth request waits for the first free slot and gets its tokens all the same."""
    schedule = compiled(eagle)
    texts = prompts(checkpoint, 9)
    outcome = decode(schedule, models["exact"], lambda: requests_for(checkpoint, texts, 10))
    assert outcome.identical and all(r.done for r in outcome.requests)


def test_tokens_come_as_they_are_made(eagle, compiled, checkpoint, models) -> None:
    """The callback hears of every token once, in the order in which each request got them."""
    heard: dict[int, int] = {}

    def hear(request, count):
        heard[id(request)] = heard.get(id(request), 0) + count
        assert heard[id(request)] == len(request.tokens)

    texts = prompts(checkpoint, 3)
    outcome = decode(
        compiled(eagle),
        models["f32"],
        lambda: requests_for(checkpoint, texts, 12),
        with_plain=False,
        on_tokens=hear,
    )
    assert sorted(heard.values()) == sorted(len(r.tokens) for r in outcome.requests)
    assert outcome.identical is None


def test_a_prompt_over_the_context_is_refused(eagle, compiled, checkpoint, models) -> None:
    """The number of the prompt, its length and the context are said."""
    requests = requests_for(checkpoint, ["fine", "word " * 600], 20)
    with pytest.raises(
        RequestError, match=r"prompt 2 has \d+ tokens and asks for 20 more; .* is 512"
    ):
        Speculative(compiled(eagle), models["f32"], requests)


def test_a_schedule_of_other_sizes_is_refused(eagle, compiled, checkpoint, models) -> None:
    """Buffers that do not fit the model are named with their line."""
    schedule = compiled(eagle, settings={"hidden_size": 64})
    requests = requests_for(checkpoint, ["x"], 4)
    with pytest.raises(
        BindError, match=r"eagle.spec:\d+: `hidden` is 64 wide; the model needs .* 128"
    ):
        Speculative(schedule, models["f32"], requests)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("reads prev out_tokens", "reads out_tokens", r"spec:\d+: `commit` reads `out_tokens` of its own"),
        ("phase commit on", "phase look on", "eagle.spec:.* this round has none"),
    ],
)  # fmt: skip
def test_a_round_from_which_no_tokens_are_taken_in_time_is_refused(
    old, new, line, eagle, compiled, checkpoint, models
) -> None:
    """Its host takes those of its own round, when requests of another may be in their rows; or takes none."""
    text = eagle.text.replace("join prev publish", "join publish") if "reads" in old else eagle.text
    schedule = compiled(Source("eagle.spec", text.replace(old, new)))
    with pytest.raises(BindError, match=line):
        check_taken(schedule)
    requests = requests_for(checkpoint, ["x"], 4)
    with pytest.raises(BindError):
        Speculative(schedule, models["f32"], requests)


def test_the_designs_own_text_names_what_it_leaves_out(root, compiled, checkpoint, models) -> None:
    """Its `build_tree` does not read the root token, which the body needs: said when it is bound."""
    text = (root / "tests" / "specs" / "canonical_eagle.spec").read_text(encoding="utf-8")
    with pytest.raises(
        BindError, match="the body of `build_tree` does not take what the phase gives it"
    ):
        Speculative(compiled(text), models["f32"], requests_for(checkpoint, ["x"], 4))


def test_distinct_ratio_counts_runs_of_four() -> None:
    """All runs differ: 1. One run over and over: one over their number."""
    assert distinct_ratio([[1, 2, 3, 4, 5]]) == 1.0
    assert distinct_ratio([[1, 1, 1, 1, 1, 1, 1]]) == 0.25
    assert distinct_ratio([[1, 2]]) is None
