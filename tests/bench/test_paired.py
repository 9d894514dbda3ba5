"""What a figure says of the turns that it was taken in."""

from __future__ import annotations

from plait.bench.paired import paired


def test_sides_take_turns_and_the_median_counts() -> None:
    """Who begins changes with each turn; ratios are of one turn, and quartiles are of those."""
    order = []

    def side(name: str, figures: list[float]):
        def measured() -> float:
            order.append(name)
            return figures.pop(0)

        return measured

    ours, peer = side("a", [2.0, 6.0, 4.0, 9.0, 20.0]), side("b", [1.0, 2.0, 4.0, 3.0, 4.0])
    found = paired("a / b", ours, peer, 5, most=2.5)
    assert "".join(order) == "abbaabbaab"
    assert str(found) == (
        "a / b: 3.00 x, at most 2.5 does NOT hold (quartiles 1.50 to 4.00, 5 turns; 6 against 3 s)"
    )
    assert found.as_data() == {
        "name": "a / b",
        "unit": "s",
        "ours": 6.0,
        "peer": 3.0,
        "ratio": 3.0,
        "spread": [1.5, 4.0],
        "turns": 5,
        "most": 2.5,
        "least": None,
        "holds": False,
    }
