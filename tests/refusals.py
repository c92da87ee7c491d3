"""What the package refuses, asserted on data: the kind of error, the argument it is about, and its values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taupi.errors import TaupiError


@contextmanager
def refused(
    argument: str | None = None, kind: type[TaupiError] = TaupiError, /, **values: object
) -> Iterator[pytest.ExceptionInfo[TaupiError]]:
    """Expect an error about `argument` (None: about no argument) with these values: `with refused("cutoff_hz", got=-1):`."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.argument == argument, str(error)
    assert {name: error.values.get(name) for name in values} == values, str(error)
