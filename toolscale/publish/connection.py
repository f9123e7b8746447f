"""One way to talk to the Hub: how long we wait for it, and what its answers mean in one line.

huggingface_hub retries some calls and not others, waits as long as a Retry-After says, and mostly sets no timeout.
Inside `connected` its HTTP client is one of ours, which fails at once when the Hub is busy or the connection is lost;
`Connection.ask` then repeats the whole question until patience is spent. Every question may be repeated: objects are
stored under their hash, and a commit names its parent.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import httpx2
from huggingface_hub import get_token, set_client_factory
from huggingface_hub.errors import BadRequestError, HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import _http as library_http
from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from huggingface_hub.utils import logging as library_log
from tenacity import RetryCallState, Retrying, retry_if_exception

from toolscale.errors import HubUnavailableError, PublishError, ToolScaleError
from toolscale.text_files import printable

HUB = "https://huggingface.co"
TOKENS = f"{HUB}/settings/tokens"
BUSY = frozenset({408, 429, 500, 502, 503, 504})
PATIENCE = 120.0
"""Seconds that one question may wait, between its tries, for a Hub that is busy or drops connections. Uploading itself
may take longer."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
AGENTS = "/api/agent-harnesses"
"""The library asks for this list, at whatever HF_ENDPOINT says, to tell the Hub which program runs it."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much."""

Answer = TypeVar("Answer")
Cause = TypeVar("Cause", bound=BaseException)

_GARBLED = (
    JSONDecodeError,
    UnicodeDecodeError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    httpx2.DecodingError,
    httpx2.TooManyRedirects,
)
"""What the library raises on an answer that it does not understand; it checks none."""


class NoAnswerError(Exception):
    """The Hub did not answer, or said that it is busy: what happened, and how long it asks to wait."""

    def __init__(self, what: str, *, wait: float | None = None, again: bool = True):
        super().__init__(what)
        self.wait = wait
        self.again = again


class _Client(httpx2.Client):
    """A client that does not try again itself: `Connection.ask` does. A failure after which another try may help is
    raised as NoAnswerError; the library does not know that class, so it does not try again either."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if request.url.path == AGENTS:
            raise httpx2.ConnectError("not asked", request=request)
        request.extensions["timeout"] = TIMEOUT.as_dict()
        try:
            response = super().send(request, **options)
        except httpx2.TransportError as error:
            raise lost(error) from error
        if response.status_code not in BUSY:
            return response
        response.close()
        limited = (
            "the rate limit is reached (429)" if response.status_code == 429 else f"it answered {response.status_code}"
        )
        raise NoAnswerError(limited, wait=_told_to_wait(response.headers))


def lost(error: httpx2.TransportError) -> NoAnswerError:
    """Return what a broken connection means. One that cannot be made at all is not tried again: the address or the
    network is wrong."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.ProxyError):
        return NoAnswerError(f"it cannot be reached ({reason})", again=False)
    return NoAnswerError(f"the connection was lost ({reason})")


class Connection:
    """Where questions to the Hub are asked: repeated while it is busy, and told in one line when it refuses."""

    def __init__(self, endpoint: str, token: str | None, patience: float, progress: Progress):
        self.endpoint = endpoint
        self.token = token
        self._patience = patience
        self._progress = progress

    def ask(self, act: str, question: Callable[[], Answer]) -> Answer:
        """Return the answer to a question. `act` is what we were doing. PublishError and HubUnavailableError say what
        came instead."""

        def told(state: RetryCallState) -> None:
            seconds = state.next_action.sleep if state.next_action else 0
            self._progress(f"{act}: waiting {seconds:.3g} s for the Hub", 0, 1)

        retrying = Retrying(
            retry=retry_if_exception(lambda error: (busy := _caused(error, NoAnswerError)) is not None and busy.again),
            wait=_wait,
            stop=lambda state: state.idle_for + state.upcoming_sleep > self._patience,
            before_sleep=told,
            reraise=True,
        )
        try:
            return retrying(question)
        except ToolScaleError:
            raise
        except OfflineModeIsEnabled:
            raise HubUnavailableError(
                f"{self.endpoint} was not asked while {act}: HF_HUB_OFFLINE is set; unset it"
            ) from None
        except HfHubHTTPError as error:
            raise self._refusal(act, error) from error
        except Exception as error:
            if busy := _caused(error, NoAnswerError):
                raise self._unavailable(act, busy) from error
            if refused := _caused(error, HfHubHTTPError):  # of an object that is uploaded: the library wraps it
                raise self._object_refused(act, refused) from error
            if isinstance(error, _GARBLED) and not _caused(error, OSError):
                said = self.hide(str(error)) or type(error).__name__
                raise PublishError(
                    f"{self.endpoint} while {act}: it does not answer like a Hub ({said}); check the endpoint"
                ) from error
            raise

    def _unavailable(self, act: str, busy: NoAnswerError) -> HubUnavailableError:
        if busy.wait is not None and busy.wait > self._patience:
            what = (
                f"{busy} and it asks to wait {busy.wait:.0f} s, "
                f"longer than the {self._patience:g} s that we wait; try again then"
            )
        elif busy.again:
            tried = f", still after {self._patience:g} s of trying" if self._patience else ""
            what = f"{busy}{tried}; run the same command again, it goes on where it was"
        else:
            what = f"{busy}; check the network and the endpoint, then run the same command again"
        return HubUnavailableError(f"{self.endpoint} while {act}: {self.hide(what)}")

    def _refusal(self, act: str, error: HfHubHTTPError) -> PublishError | HubUnavailableError:
        status, said = error.response.status_code, self.hide(error.server_message or "no reason given")
        if status == 401:
            says = "it does not know this token" if self.token else "it asks for a token"
            return PublishError(
                f"{self.endpoint} while {act}: {says} (401); "
                f"set HF_TOKEN to one from {TOKENS}; pushing needs write access"
            )
        if status == 403:
            return PublishError(
                f"{self.endpoint} while {act}: the token may not do that (403: {said}); "
                "set HF_TOKEN to one that may write there"
            )
        if status == 412:
            moved = (
                "somebody else committed meanwhile (412), "
                "nothing of this version is on main; run the same command again"
            )
            return HubUnavailableError(f"{self.endpoint} while {act}: {moved}")
        kind = "bad request" if isinstance(error, BadRequestError) else "refused"
        return PublishError(f"{self.endpoint} while {act}: {kind} ({status}: {said}); change what it names")

    def _object_refused(self, act: str, error: HfHubHTTPError) -> PublishError:
        """Say that the storage refused an object. It knows no token: the address that the Hub gave says who may write
        there, and until when."""
        status, said = error.response.status_code, self.hide(error.server_message or "no reason given")
        what = f"the storage of the Hub refused an object ({status}: {said}), nothing of this version is on main"
        return PublishError(
            f"{self.endpoint} while {act}: {what}; "
            "run the same command again, and if it stays so, ask whoever runs this Hub"
        )

    def hide(self, text: str) -> str:
        """Return what the Hub said as one short line that a terminal can show, without the token should it repeat
        it."""
        for secret in {self.token, quote(self.token, safe=""), quote_plus(self.token)} if self.token else ():
            text = text.replace(secret, "…")
        return printable(text)


@contextmanager
def connected(endpoint: str | None, token: str | None, patience: float, progress: Progress) -> Iterator[Connection]:
    """Yield a connection. Within, huggingface_hub of the whole process uses our client and draws nothing."""
    factory, bars, level = (
        library_http._GLOBAL_CLIENT_FACTORY,
        not are_progress_bars_disabled(),
        library_log.get_verbosity(),
    )
    set_client_factory(_new_client)
    disable_progress_bars()
    library_log.set_verbosity(library_log.ERROR)
    try:
        with warnings.catch_warnings():
            # Of how the library calls its client.
            warnings.filterwarnings("ignore", message="Use 'content=", category=DeprecationWarning)
            yield Connection(endpoint_of(endpoint), token, patience, progress)
    finally:
        library_log.set_verbosity(level)
        if bars:
            enable_progress_bars()
        set_client_factory(factory)


def endpoint_of(endpoint: str | None) -> str:
    """Return the Hub to talk to: the one that is given, else HF_ENDPOINT, else the public one."""
    return (endpoint or os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def token_of(token: str | None) -> str | None:
    """Return the token that is given, else HF_TOKEN, else the one that `hf auth login` stored. PublishError if it
    cannot be one."""
    found = token or get_token()
    if found and not (found.isascii() and found.isprintable() and " " not in found):
        raise PublishError(
            "the token has a character that no token has; "
            f"set HF_TOKEN to one from {TOKENS}, or run `hf auth login` again"
        )
    return found


def _new_client() -> httpx2.Client:
    return _Client(
        event_hooks={"request": [library_http.hf_request_event_hook]}, follow_redirects=True, timeout=TIMEOUT
    )


def _caused(error: BaseException | None, kind: type[Cause]) -> Cause | None:
    """Find the error of a kind that the library may have wrapped."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error


def _told_to_wait(headers: httpx2.Headers) -> float | None:
    """Return the seconds of Retry-After, or of the Hub's own header if nothing is left of a limit."""
    told = headers.get("Retry-After", "").strip()
    if told.isdecimal():
        return float(told)
    with suppress(ValueError):  # neither seconds nor a date: nothing was told
        date = parsedate_to_datetime(told)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time())
    limit = library_http.parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit is not None and limit.remaining == 0 else None


def _wait(state: RetryCallState) -> float:
    """Return the seconds until the next try: more with every try, and at least those that the Hub asks for, which may
    be none."""
    busy = _caused(state.outcome.exception() if state.outcome else None, NoAnswerError)
    longer = float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (state.attempt_number - 1)))
    return max(busy.wait or 0.0, longer) if busy else longer
