"""The modules that a file can call: its own, and those of the files it uses.

`use "layers.spec"` takes a file in the folder of the spec or below it; `use deepep` one of the
standard library (`dsl/std/`). Nothing above the folder can be reached: absolute paths, `..` and links
that lead out are refused. Files are read once, and a circle of uses is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.parser import MAX_CHARACTERS, parse
from plait.dsl.span import Source, Span
from plait.dsl.suggest import did_you_mean

STANDARD = Path(__file__).with_name("std")
MOST_FILES = 64


@dataclass(eq=False)
class Library:
    file: syntax.File
    modules: dict[str, syntax.Module] = field(default_factory=dict)
    used: dict[str, Library] = field(default_factory=dict)

    def find(self, path: tuple[syntax.Name, ...]) -> tuple[syntax.Module, Library]:
        """A module by its path, and the library it can call from. Raises SpecError."""
        first, *rest = path
        if rest:
            if first.text not in self.used:
                message = f"no file is used as `{first.text}`"
                help = did_you_mean(first.text, self.used)
                raise SpecError([Diagnostic("PL101", message, first.span, help=help)])
            return self.used[first.text].find(tuple(rest))
        if first.text not in self.modules:
            message = f"there is no module `{first.text}`"
            help = did_you_mean(first.text, self.modules)
            raise SpecError([Diagnostic("PL101", message, first.span, help=help)])
        return self.modules[first.text], self

    @property
    def sources(self) -> list[Source]:
        """Every file that was read, this one first."""
        found = {id(self.file.span.source): self.file.span.source}
        for used in self.used.values():
            found |= {id(source): source for source in used.sources}
        return list(found.values())


def load_library(source: Source) -> Library:
    """A file with all it uses. Raises SpecError with every mistake in them."""
    own = () if source.folder is None else ((source.folder / source.name).resolve(),)
    return _Loader().load(source, own)


class _Loader:
    def __init__(self) -> None:
        self.loaded: dict[Path, Library] = {}

    def load(self, source: Source, within: tuple[Path, ...]) -> Library:
        file = parse(source)
        library = Library(file)
        mistakes: list[Diagnostic] = []
        for module in file.modules:
            if module.name.text in library.modules:
                message = f"`{module.name.text}` is declared twice"
                mistakes.append(Diagnostic("PL104", message, module.name.span))
            library.modules[module.name.text] = module
        for use in file.uses:
            try:
                name, used = self.used(use, source, within)
                if name in library.used:
                    _fail("PL104", f"two files are used as `{name}`", use.span, "say `as NAME`")
                library.used[name] = used
            except SpecError as error:
                mistakes += error.diagnostics
        if mistakes:
            raise SpecError(mistakes)
        return library

    def used(
        self, use: syntax.Use, source: Source, within: tuple[Path, ...]
    ) -> tuple[str, Library]:
        path = _path(use, source)
        name = use.alias.text if use.alias else path.stem
        if path in within:
            _fail("PL115", "this file is being used by what it uses", use.source.span)
        if path not in self.loaded:
            if len(self.loaded) >= MOST_FILES:
                _fail("PL115", f"more than {MOST_FILES} files are used", use.source.span)
            standard = isinstance(use.source, syntax.Name)
            shown = f"std/{path.name}" if standard else _text_of(use)
            self.loaded[path] = self.load(_read(path, shown, use), (*within, path))
        return name, self.loaded[path]


def _text_of(use: syntax.Use) -> str:
    return use.source.value if isinstance(use.source, syntax.Text) else use.source.text


def _path(use: syntax.Use, source: Source) -> Path:
    """Where a used file lies. Raises SpecError when that is outside the spec's own folder."""
    place = use.source.span
    if isinstance(use.source, syntax.Name):
        known = sorted(path.stem for path in STANDARD.glob("*.spec"))
        if use.source.text not in known:
            message = f"the standard library has no `{use.source.text}`"
            help = did_you_mean(use.source.text, known)
            _fail("PL115", message, place, f"{help}; a file of yours stands in quotes")
        return STANDARD / f"{use.source.text}.spec"
    if source.folder is None:
        _fail("PL115", "this text is not a file, so it has no folder to use files from", place)
    asked = Path(use.source.value)
    if asked.is_absolute() or ".." in asked.parts or "\\" in use.source.value:
        help = "name a file in the folder of this one, or below it"
        _fail("PL115", f"`{use.source.value}` leads out of the folder of the spec", place, help)
    folder = source.folder.resolve()
    path = (folder / asked).resolve()
    if not path.is_relative_to(folder):
        _fail("PL115", f"`{use.source.value}` is a link out of the folder of the spec", place)
    return path


def _read(path: Path, shown: str, use: syntax.Use) -> Source:
    try:
        with path.open("rb") as file:
            data = file.read(4 * MAX_CHARACTERS + 1)
        return Source(shown, data.decode("utf-8-sig"), path.parent)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        _fail("PL115", f"`{shown}` cannot be read: {reason}", use.source.span)


def _fail(code: str, message: str, span: Span, help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help)])
