"""What goes wrong when a schedule is bound or run, as the one line and the exit code of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from plait.exit import WRONG_ENVIRONMENT, Refused


@contextmanager
def refusing_runs() -> Iterator[None]:
    """Raises Refused for what the runtime raises, and as it is the OSError by which a phase has failed."""
    from plait.runtime.devices.base import DeviceError
    from plait.runtime.devices.job import PhaseError
    from plait.runtime.devices.refusals import CaptureError
    from plait.runtime.ranks.error import RankError
    from plait.runtime.runner import BindError

    try:
        yield
    except RankError as error:
        raise Refused(str(error), WRONG_ENVIRONMENT) from None
    except (*_of_decoding(), BindError, CaptureError, PhaseError) as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise Refused(str(error)) from None
    except DeviceError as error:
        raise Refused(str(error), WRONG_ENVIRONMENT) from None


def _of_decoding() -> tuple[type[Exception], ...]:
    """Looked up when something was raised, so that a run that decodes nothing loads nothing of it."""
    from plait.runtime.eagle.request import RequestError
    from plait.runtime.exchange.sizes import ExchangeError
    from plait.runtime.models.checkpoint import CheckpointError

    return RequestError, CheckpointError, ExchangeError
