"""What sort of work a name tells of, in the words of profilers."""

from __future__ import annotations

import re
from functools import lru_cache

from plait.compiler.traces.model import Kind

WAIT = re.compile(r"(EVENT|NOTIFY)[ _]WAIT|CAPTURE_WAIT|MEM_WAIT_VALUE", re.IGNORECASE)
RECORD = re.compile(r"(EVENT|NOTIFY)[ _]RECORD|CAPTURE_RECORD|EVENT_RESET", re.IGNORECASE)
COPY = re.compile(r"memcpy|memset|SDMA_SQE|MEMORY_COPY", re.IGNORECASE)
COMMUNICATION = re.compile(
    r"^(hcom|nccl|rccl|allreduce|allgather|broadcast_?$)|HCCL|deep_ep|MoeDistribute(Dispatch|Combine)"
    r"|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(inter|intra)node::(dispatch|combine)",
    re.IGNORECASE,
)
CONTROL = re.compile(
    r"PROFILING_(ENABLE|DISABLE)|TASK_TIMEOUT_SET|PLACE_HOLDER(_SQE)?|WRITE_VALUE(_SQE)?",
    re.IGNORECASE,
)
"""Tasks that only steer a stream."""
EXECUTE = re.compile(r"MODEL_EXECUTE(_SQE)?|MODEL EXECUTE", re.IGNORECASE)
"""The task by which a stream launches a graph."""
COMPUTE_TYPES = frozenset(
    (
        "AI_CORE",
        "AI_VECTOR_CORE",
        "MIX_AIC",
        "MIX_AIV",
        "AI_CPU",
        "AIV_SQE",
        "AIC_SQE",
        "AICPU",
        "KERNEL_AICORE",
        "KERNEL_AIVEC",
        "KERNEL_AICPU",
        "KERNEL_MIX_AIC",
        "KERNEL_MIX_AIV",
        "FFTS_PLUS",
        "FFTS+",
        "Other",
        "N/A",
        "",
        "MIX_AICORE",
        "MIX_AIVECTOR",
        "AICORE",
        "AIVEC",
        "DSA_SQE",
    )
)


@lru_cache(100_000)
def kind_of(name: str, type: str = "") -> Kind:
    """Of a device's task by its name and, on Ascend, its type. A communication is only one by its name:
    what a schedule declares knows better."""
    control = type if type not in COMPUTE_TYPES else ""
    steering: tuple[tuple[re.Pattern[str], Kind], ...] = (
        (WAIT, "wait"),
        (RECORD, "record"),
        (CONTROL, "record"),
        (EXECUTE, "launch"),
    )
    for pattern, kind in steering:
        if pattern.fullmatch(name) or pattern.search(control):
            return kind
    if COPY.search(control) or (COPY.match(name) and type in ("", "N/A")):
        return "copy"
    if COMMUNICATION.search(name) or COMMUNICATION.search(control):
        return "communication"
    return "compute"
