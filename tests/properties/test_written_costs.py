"""A profile that is written reads back equal."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.timing.costs import Cost, HostCosts, Law, Link, Profile, StreamCosts
from plait.compiler.timing.costs_file import LONGEST, load_profile
from plait.compiler.timing.costs_written import written
from plait.compiler.timing.sharing import WHOLE
from plait.dsl.words import COLLECTIVES, STREAM_KINDS

times = st.integers(0, LONGEST) | st.integers(0, 10**7)
texts = st.text(min_size=1, max_size=8)


@st.composite
def laws(draw) -> Law:
    if draw(st.booleans()):
        return Law(draw(times), draw(st.integers(0, LONGEST * 1000) | st.integers(0, 10**6)))
    points = draw(st.dictionaries(st.integers(0, 10**9 - 1), times, min_size=1, max_size=4))
    return Law(points=tuple(sorted(points.items())))


@st.composite
def profiles(draw) -> Profile:
    resources = tuple(draw(st.lists(texts, max_size=3, unique=True)))

    def uses():
        if not resources:
            return ()
        some = st.dictionaries(
            st.integers(0, len(resources) - 1), st.integers(1, WHOLE), max_size=3
        )
        return tuple(sorted(draw(some).items()))

    def cost() -> Cost:
        link = Link(draw(laws()), uses()) if draw(st.booleans()) else None
        return Cost(draw(laws()), uses(), link, draw(times), draw(st.none() | laws()))

    phases = draw(st.lists(texts, max_size=4, unique=True))
    collectives = draw(st.lists(st.sampled_from(sorted(COLLECTIVES)), max_size=3, unique=True))
    classes = draw(st.lists(st.sampled_from(STREAM_KINDS), max_size=2, unique=True))
    return Profile(
        draw(texts),
        draw(texts),
        resources,
        HostCosts(**{name: draw(times) for name in HostCosts.fields()}),
        StreamCosts(**{name: draw(times) for name in StreamCosts.fields()}),
        tuple((name, cost()) for name in phases),
        tuple((name, cost()) for name in collectives),
        tuple((name, cost()) for name in classes),
    )


@given(profiles(), st.lists(st.text(max_size=12), max_size=2))
def test_what_is_written_reads_back_equal(
    tmp_path_factory, profile: Profile, comment: list[str]
) -> None:
    """Any names, any times up to an hour, laws of both kinds; comments change nothing."""
    path: Path = tmp_path_factory.mktemp("costs") / "profile.toml"
    heads = ["", "host", *(f"phases.{name}" for name, _ in profile.phases)]
    path.write_text(written(profile, dict.fromkeys(heads, comment)), encoding="utf-8", newline="")
    assert load_profile(path) == profile
