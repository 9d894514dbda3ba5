"""Where the buckets of a dim are said: in the dim, in the param it names, a variant of that, or `--set`."""

from __future__ import annotations

from dataclasses import replace

from plait.compiler.buckets.trial import as_list
from plait.compiler.compile import Asked
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.edits import edited
from plait.dsl.record import Record
from plait.dsl.settings import variants_of
from plait.dsl.span import Source


class Place(Record):
    statement: syntax.Node | None
    """None: `--set` has it."""
    buckets: syntax.Expression
    """The part of it that is to be another list, or the name of the param that `--set` gives."""

    def with_buckets(self, sizes: list[int], source: Source, asked: Asked) -> tuple[Source, Asked]:
        """What to compile, and for what, to have other buckets."""
        if self.statement is None:
            given = {**(asked.settings or {}), self.buckets.span.text: list(sizes)}
            return source, replace(asked, settings=given)
        fix = Fix("other buckets", (Edit(self.buckets.span, as_list(sizes)),))
        text = edited(source, [fix])[0].text
        return Source(source.name, text, source.folder), asked

    def said(self, sizes: list[int]) -> str:
        """The statement, or the argument, with other buckets."""
        if self.statement is None:
            return f'--set "{self.buckets.span.text}={as_list(sizes)}"'
        whole, part = self.statement.span, self.buckets.span
        text, start = whole.text, part.start - whole.start
        return text[:start] + as_list(sizes) + text[start + len(part.text) :]


def place_of(file: syntax.File, pipeline: syntax.Pipeline, dim: syntax.Dim, asked: Asked) -> Place:
    if not isinstance(dim.sizes, syntax.Reference):
        return Place(dim, dim.sizes)
    name = dim.sizes.name.text
    if name in (asked.settings or {}):
        return Place(None, dim.sizes)
    for variant in variants_of(file, pipeline):
        for setting in variant.settings:
            if variant.name.text == asked.variant and setting.name.text == name:
                return Place(setting, setting.value)
    for node in pipeline.body:
        if isinstance(node, syntax.Param) and node.name.text == name and node.choices is None:
            return Place(node, node.value)
    return Place(dim, dim.sizes)
