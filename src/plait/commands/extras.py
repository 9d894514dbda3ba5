"""What `pip install 'plait[...]'` installs beside Plait, and which of it is here."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

EXTRAS = {
    "run": {"torch": "2.6", "tokenizers": "0.20", "safetensors": "0.4.5", "numpy": "1.26"},
    "serve": {"starlette": "0.40", "uvicorn": "0.30", "prometheus-client": "0.20"},
    "lsp": {"pygls": "2.0"},
    "npu": {"torch_npu": "2.6"},
}
"""The oldest version of each package that will do, as pyproject.toml has it."""


def extras() -> dict[str, dict[str, Any]]:
    """Of each extra its packages with their versions, and what is missing or too old; null: nothing."""
    found = {}
    for extra, oldest in EXTRAS.items():
        versions = {package: _version(package) for package in oldest}
        lacking = [
            f"{package} is not installed" if here is None else f"{package} {here} is too old"
            for package, here in versions.items()
            if here is None or _numbers(here) < _numbers(oldest[package])
        ]
        mend = f"{', '.join(lacking)}: pip install 'plait[{extra}]'" if lacking else None
        found[extra] = {"versions": versions, "missing": mend}
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    """What a version begins with.

    >>> _numbers("2.13.0+cpu"), _numbers("2.6.0.post5")
    ((2, 13, 0), (2, 6, 0))
    """
    head = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in head[0].split(".")) if head else ()
