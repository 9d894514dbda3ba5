"""The bill of a spec, whether or not it is sound."""

from __future__ import annotations

from plait.compiler.budgets.bill import Bill, bill_of
from plait.compiler.compile import Asked, expand, target_of
from plait.dsl.library import load_library
from plait.dsl.settings import choose_pipeline
from plait.dsl.span import Source


def bill_asked(source: Source, asked: Asked) -> Bill:
    """Of one variant. Raises SpecError for what keeps it from being expanded, TargetError."""
    library, target = load_library(source), target_of(asked)
    pipeline = choose_pipeline(library.file, asked.pipeline, asked.variant)
    return bill_of(expand(library, pipeline, asked, target), target)
