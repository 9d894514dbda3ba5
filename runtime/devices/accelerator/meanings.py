"""What errors of a device's runtime mean, each in one clear sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

NPU_MEANINGS = {
    "107024": "a capture waits for an event that was not recorded in it",
    "107025": "a stream that was forked in the capture did not come back before its end",
    "107026": "the graph is being captured",
    "107027": "the host waits for a stream that is being captured",
    "107028": "the host waits for an event of a capture",
    "107029": "the stream cannot be captured",
    "107030": "a capture forbids this call: nothing in it may hold the host up",
    "107031": "work came to the default stream while another was being captured",
    "107032": "an event or a stream belongs to another capture",
    "107033": "a task group is begun or ended out of turn",
    "107034": "a task group was broken off: it may hold calls of single operators only",
    "107036": "a capture is ended that was not begun",
    "107037": "the graph is still running",
    "107038": "a capture is ended on another thread than the one it was begun on",
    "207005": "the driver is out of queues for streams: capture fewer graphs, or update to HDK 25.5.1",
    "207007": "the driver is out of events",
    "207008": "the driver is out of streams: capture fewer graphs, or fewer side streams in them",
    "207009": "the driver is out of notifies",
    "207010": "the driver is out of graphs",
}
CUDA_MEANINGS = {
    "operation not permitted when stream is capturing": (
        "a capture forbids this call: nothing in it may hold the host up"
    ),
    "operation failed due to a previous error during capture": (
        "something in the capture has failed before"
    ),
    "operation would result in a merge of separate capture sequences": (
        "an event or a stream belongs to another capture"
    ),
    "capture was not ended in the same stream as it began": (
        "a capture is ended on another stream than the one it was begun on"
    ),
    "capturing stream has unjoined work": (
        "a stream that was forked in the capture did not come back before its end"
    ),
    "dependency created on uncaptured work in another stream": (
        "a capture waits for an event that was not recorded in it"
    ),
    "operation would make the legacy stream depend on a capturing blocking stream": (
        "work came to the default stream while another was being captured"
    ),
    "operation not permitted on an event last recorded in a capturing stream": (
        "the host waits for an event of a capture"
    ),
    "attempt to terminate a thread-local capture sequence from another thread": (
        "a capture is ended on another thread than the one it was begun on"
    ),
}


def meant(error: BaseException, meanings: Mapping[str, str]) -> BaseException:
    """The error, or what it means, on one line, where its text has something that is known."""
    text = str(error)
    for sign, meaning in meanings.items():
        if re.search(rf"(?<!\d){re.escape(sign)}(?!\d)", text):
            return RuntimeError(f"{meaning} ({sign})" if sign.isdigit() else meaning)
    if (
        "\n[ERROR]" in text
    ):  # torch_npu's second line: the time, the process, and a code for all of a kind
        return RuntimeError(text[: text.index("\n[ERROR]")])
    return error
