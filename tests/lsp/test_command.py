"""`plait lsp` among the other verbs: what it needs is asked of nobody else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plait.cli import main


def test_nothing_else_loads_the_protocol(root: Path) -> None:
    """Neither `import plait` nor a verb that checks, compiles or explains."""
    script = (
        "import sys, plait.cli\n"
        "for verb in ('check', 'compile', 'explain'):\n"
        "    plait.cli.main([verb, 'examples/eagle.spec'])\n"
        "loaded = {'pygls', 'lsprotocol', 'attrs', 'cattrs', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_the_extra_there_is_one_clear_line(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which says what to install."""
    for name in [name for name in sys.modules if name.startswith("plait.lsp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["lsp"]) == 3
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "plait lsp: needs the module `lsprotocol`, which is not installed: pip install 'plait[lsp]'\n",
    )


def test_a_print_goes_where_messages_go(root: Path) -> None:
    """Whatever writes to stdout while the server runs cannot tear the protocol."""
    script = (
        "import sys, plait.lsp.server as server\n"
        "from plait.cli import main\n"
        "server.serve = lambda stdin, out: print('stray') or out.write(b'protocol') and 0\n"
        "sys.exit(main(['lsp', '--stdio']))"
    )
    done = subprocess.run([sys.executable, "-c", script], input=b"", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"protocol", b"stray\n")
