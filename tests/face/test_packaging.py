"""The house as it is installed: links, packages, guards, and a wheel that runs alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_face_holds_links_to_the_real_folders(root: Path) -> None:
    """One copy of every module, under two paths."""
    for name in ("compiler", "dsl", "examples", "runtime"):
        link = root / "src" / "plait" / name
        assert link.is_symlink() and os.readlink(link) == f"../../{name}"
        assert link.samefile(root / name)


def test_every_package_is_in_the_list(root: Path, project: dict) -> None:
    """A new package that is not written down would be missing from the wheel, silently."""
    face = root / "src" / "plait"
    found = {
        ".".join(("plait", *Path(folder).relative_to(face).parts))
        for folder, _, files in os.walk(face, followlinks=True)
        if "__init__.py" in files
    }
    assert found == set(project["tool"]["setuptools"]["packages"])


def test_the_folders_are_not_modules_of_their_own(root: Path) -> None:
    """Imported under another name, each says what to import instead of making a second copy."""
    for name in ("compiler", "dsl", "runtime"):
        done = subprocess.run(
            [sys.executable, "-c", f"import {name}"], cwd=root, capture_output=True, text=True
        )
        assert done.returncode == 1
        assert f"ImportError: import plait.{name}, not {name}" in done.stderr


def test_extras_and_constraints_are_there(root: Path, project: dict) -> None:
    """The extras that users ask for, and a pin for every version that CI installs."""
    extras = project["project"]["optional-dependencies"]
    assert set(extras) == {"run", "npu", "serve", "lsp", "test", "bench", "docs", "dev"}
    pins = (root / "constraints.txt").read_text(encoding="utf-8").lower()
    assert "torch==2.13.0\n" in pins
    from importlib.metadata import distributions

    for distribution in distributions():
        name = distribution.metadata["Name"].lower().replace("_", "-")
        if name not in ("pip", "plait"):
            assert f"{name}==" in pins.replace("_", "-"), f"{name} is installed without a pin"


def test_arrows_only_point_downward(root: Path) -> None:
    """dsl below compiler, schedule below compiler and runtime, runtime knows of neither."""
    allowed = {
        "dsl": ("plait.dsl",),
        "compiler": ("plait.compiler", "plait.dsl", "plait.runtime.schedule"),
        "runtime": ("plait.runtime",),
    }
    for folder, targets in allowed.items():
        for path in (root / folder).rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                words = line.split()
                if words[:1] == ["from"] and words[1].split(".")[0] == "plait":
                    module = words[1]
                    if module == "plait" or module.startswith("plait._version"):
                        continue
                    assert any(
                        module == target or module.startswith(f"{target}.") for target in targets
                    ), f"{path.relative_to(root)}: {line.strip()}"


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        there = root / name
        if not os.path.lexists(there):
            continue
        copy = source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if there.is_symlink():
            copy.symlink_to(os.readlink(there))
        else:
            copy.write_bytes(there.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(folder), str(source)], check=True, timeout=180)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, root: Path) -> None:
    """Every tracked file of the three folders and the face that is no cache, and no other top level."""
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names} == {"plait", "plait-0.1.0.dist-info"}
    for folder in ("compiler", "dsl", "runtime"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"plait/{path.relative_to(root)}" in names, path
    assert {
        "plait/examples/eagle.spec",
        "plait/examples/costs/eagle.toml",
        "plait/py.typed",
    } <= names
    assert {f"plait/templates/starter.{ending}" for ending in ("spec", "py")} <= names


def test_the_wheel_runs_alone_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    """Installed by itself, with no checkout near, it decodes with a shipped example."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(site)
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import plait.cli, pathlib\n"
        f"assert pathlib.Path(plait.__file__).is_relative_to({str(site)!r})\n"
        "sys.exit(plait.cli.main(['run', 'examples/eagle.spec', '--json', '--prompt', 'def f(', "
        "'--max-new-tokens', '8']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=empty, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["identical_to_plain"] is True
    assert not list(empty.iterdir())
