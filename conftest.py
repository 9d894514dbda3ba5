"""The three folders are collected as src/plait/..., under the names they are imported by."""

collect_ignore = ["compiler", "dsl", "runtime"]
