"""Reading from other machines: with a deadline of our own, and errors in one sentence."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from taupi.errors import TaupiError

T = TypeVar("T")

# s: a server that sends nothing for this long has failed, whatever the library's own limits are: they add up over its retries.
DEADLINE_S = 60.0
_SECRET = re.compile(r"\?\S*")


def watched(function: Callable[..., T], *args: Any, **keywords: Any) -> T:
    """Return what a function returns, called in a thread of its own; TimeoutError if that takes longer than the deadline."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append((True, function(*args, **keywords)))
        except BaseException as error:  # raised again by the caller
            outcome.append((False, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if not outcome:
        raise TimeoutError(f"no answer for {DEADLINE_S:g} s")
    done, result = outcome[0]
    if not done:
        raise result
    value: T = result
    return value


@contextmanager
def reading_error(name: str) -> Iterator[None]:
    """Turn whatever a library raises about a remote file into one sentence, without the queries of addresses."""
    try:
        yield
    except (TaupiError, KeyboardInterrupt):
        raise
    except FileNotFoundError as error:
        if "Connect" in type(error.__cause__).__name__:  # for the web, fsspec only says that there is no file
            raise TaupiError(f"{name} cannot be read: no server answers there.") from None
        raise TaupiError(f"There is nothing at {name}. Check the address.") from None
    except PermissionError:
        raise TaupiError(
            f"{name} may not be read with the credentials of the environment.",
            remedy="Check them, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3.",
        ) from None
    except TimeoutError as error:
        raise TaupiError(f"{name} cannot be read: {str(error) or 'no answer'}.") from None
    except ImportError as error:
        raise TaupiError(f"{name} cannot be read: {error}.", remedy="pip install 'taupi[remote]'.") from None
    except Exception as error:  # botocore, aiohttp, gcsfs and adlfs have their own errors
        if type(error).__name__ == "NoCredentialsError":
            raise TaupiError(
                f"There are no credentials for {name}.",
                remedy="Set them in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3.",
            ) from None
        if type(error).__name__ == "FileExpired":
            raise TaupiError(f"{name} was replaced while it was read. Start again.") from None
        reason = _SECRET.sub("", (str(error).splitlines() or [""])[0])[:200] or type(error).__name__
        raise TaupiError(f"{name} cannot be read: {reason.rstrip('.')}.") from None
