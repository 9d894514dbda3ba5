"""The phases of starter.spec in torch, and five rounds of it: python starter.py"""

import plait
import torch

WORDS = "a round drafts some words quickly then one pass of the model keeps what is right".split()
LARGE = (torch.arange(len(WORDS)) + 1) % len(WORDS)  # the word after each: the model to be right by
SMALL = torch.where(torch.arange(len(WORDS)) % 5 > 0, LARGE, 0)  # quick, and wrong once in five


# A phase gets its buffers by name, at the size of the bucket, and changes what it writes in place.
def draft(small, last, guess):
    guess[:, 0] = last
    for i in range(1, guess.shape[1]):
        guess[:, i] = small[guess[:, i - 1]]


def accept(guess, truth, last, accepted):
    right = (guess[:, 1:] == truth[:, :-1]).cumprod(1).sum(1, keepdim=True)  # in a row
    last.copy_(truth.gather(1, right)[:, 0])
    accepted.copy_(truth.where(torch.arange(truth.shape[1]) <= right, -1))


bodies = {
    "draft": draft,
    "verify": lambda large, guess, truth: truth.copy_(large[guess]),
    "accept": accept,
    "publish": lambda accepted, shown: shown.copy_(accepted),
    "count": lambda accepted, length: length.add_((accepted >= 0).sum(1)),
    "report": lambda shown: print(*(WORDS[i] for i in shown[0].tolist() if i >= 0)),
}

if __name__ == "__main__":
    schedule = plait.compile("starter.spec")
    with schedule.bind(bodies, opaque={"small": SMALL, "large": LARGE}) as runner:
        for _ in range(5):
            runner.step(bs=1)  # one text; the spec has room for four
        runner.drain()
        print(f"{runner.buffer('length')[0]} words in 5 rounds")
