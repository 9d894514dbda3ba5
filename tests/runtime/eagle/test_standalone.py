"""The emitted Python on the real model: the executor's own text gives the executor's tokens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from plait.runtime.eagle.compare import decode, requests_for
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.program import standalone_text

# The bodies are the model's; the round, its streams, captures and buffers are the emitted file's.
BODIES = """\
import torch
from plait.runtime.eagle.chain import NOT_ACCEPTED, Chain
from plait.runtime.eagle.compare import requests_for
from plait.runtime.models.tiny.checkpoint import load_checkpoint

torch.set_num_threads(1)
torch.set_grad_enabled(False)
checkpoint = load_checkpoint()
(request,) = requests_for(checkpoint, [PROMPT], 24)
chain = Chain(checkpoint.model("exact"), 8, 192, 3)
published = []
bodies = chain.bodies() | {"commit": lambda out_tokens: published.append(out_tokens[0].tolist())}
"""

SCRIPT = """\
import json, sys
import bodies, emitted
assert not any(name.startswith("plait.compiler") for name in sys.modules)
runner = emitted.bind(bodies.bodies, bodies.chain.opaque())
for back in (0, 1):
    runner.buffer("out_tokens", back).fill_(bodies.NOT_ACCEPTED)
runner.prepare(bs=1)
first, _, carried = bodies.chain.prefill(bodies.request.prompt, 0)
for name, value in carried.items():
    runner.buffer(name)[0] = value
tokens = [first]
while len(tokens) < 24:
    runner.step(bs=1)
    tokens += [t for t in bodies.published[-1] if t != bodies.NOT_ACCEPTED]
runner.close()
print(json.dumps(tokens[:24]))
"""


def test_the_emitted_file_gives_the_same_tokens(eagle, compiled, tmp_path: Path) -> None:
    """Run by itself with a file of bodies, against the same prompt through Plait."""
    schedule = compiled(eagle)
    checkpoint = load_checkpoint()
    prompt = checkpoint.prompts[0]
    (tmp_path / "emitted.py").write_text(standalone_text(schedule), encoding="utf-8")
    (tmp_path / "bodies.py").write_text(BODIES.replace("PROMPT", repr(prompt)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    outcome = decode(
        schedule,
        checkpoint.model("exact"),
        lambda: requests_for(checkpoint, [prompt], 24),
        with_plain=False,
    )
    assert json.loads(done.stdout) == outcome.requests[0].tokens
