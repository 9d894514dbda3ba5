"""The first tokens of many requests through whole rounds, against the distribution they should have."""

from __future__ import annotations

import argparse
import json
import time

import torch

from drawing.sampled import ROUNDS, SAMPLINGS, fit


def sampling(draws: int) -> list[dict]:
    """Of each kind of round at each way to sample, how well so many requests fit."""
    torch.set_num_threads(1)
    found = []
    for rounds in ROUNDS:
        for asked, one in SAMPLINGS.items():
            start = time.process_time()
            seen = fit(rounds, one, draws)
            seconds = time.process_time() - start
            found.append(
                {
                    "what": f"{rounds}, {asked}",
                    "draws": draws,
                    "statistic": seen.statistic,
                    "freedom": seen.freedom,
                    "p": seen.p,
                    "seconds": seconds,
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak.sampling", description=__doc__)
    parser.add_argument("--draws", type=int, default=100_000)
    options = parser.parse_args()
    print(json.dumps(sampling(options.draws)))


if __name__ == "__main__":
    main()
