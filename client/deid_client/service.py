"""One service with several endpoints. Every question is repeated until it has a valid answer, or ends with an error.

After a failed call, its endpoint is not used for a while and the question goes to another endpoint. A check in the
background makes the endpoint usable again: its configuration must match, and its models must answer a probe, see
:mod:`deid_client.probe`. So an endpoint that gives no answer costs one deadline, not one deadline per note.

The service counts as down when a question fails and no endpoint has answered any request or probe since the question
began. Further questions then fail at once, until an endpoint passes its check. The first question after that is a
trial: when its first call fails, the service is down again. So a server that answers only probes costs one call per
question.
"""

import asyncio
import itertools
import logging
import math
import os
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final, TypeVar

import grpc

from deid_client.addresses import Address, is_name, look_up
from deid_client.endpoint import Check, Endpoint
from deid_client.errors import BadAnswerError, CallError, FailureKind, ServiceDownError
from deid_client.metrics import ClientMetrics
from deid_client.server_version import warning_of
from deid_client.settings import ServerSettings
from deid_client.tensors import Array, Askable
from deid_runtime.errors import DeidError, ModelError

_LOG: Final = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_CALL_TOKENS: Final = 4096  # call_seconds is the deadline of calls with up to this many tokens
_OTHERS_SECONDS: Final = 5.0  # how long to wait for the other endpoints when one is ready
_SLACK_SECONDS: Final = 1.0  # extra time for a check that ends at its deadline, so that it can report why


class Service:
    """All endpoints, in one event loop. :class:`~deid_client.connection.Connection` gives other threads access."""

    def __init__(self, settings: ServerSettings, check: Check, metrics: ClientMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._check = check
        self._endpoints: list[Endpoint] = []  # never empty once open
        self._turns = itertools.count()
        self._slots = asyncio.Semaphore(settings.requests_in_flight)
        self._request_ids = (f"{os.urandom(8).hex()}-{number}" for number in itertools.count())
        self._down: str | None = None  # the reason while the service is down
        self._is_trial = False
        self._changed = asyncio.Event()  # set and replaced after each check of an endpoint
        self._has_warned = False  # about an old server version
        self._keepers: dict[Endpoint, asyncio.Task[None]] = {}
        self._follower: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Wait for a first usable endpoint.

        Endpoints with other models are left out: while servers are updated one after the other, some have the old
        models and some the new ones. Raises ModelError when no endpoint is ready in time, or all have other models.
        """
        until = monotonic() + self._settings.connect_seconds
        await self._look_up()
        await self._check_all(until)
        await self._tell_troubles(until)
        for each in self._endpoints:
            self._start_keeping(each)
        if any(map(is_name, self._settings.endpoints)):
            self._follower = asyncio.create_task(self._follow_names(), name="addresses")
        while not any(each.is_ready for each in self._endpoints):
            mismatches = [each.mismatch for each in self._endpoints if each.mismatch]
            if len(mismatches) == len(self._endpoints) or (mismatches and monotonic() >= until):
                raise mismatches[0]
            for each in self._endpoints:
                if each.failure and each.failure.kind is FailureKind.FATAL:
                    raise ModelError(str(each.failure))
            if monotonic() >= until:
                reasons = "; ".join(each.trouble for each in self._endpoints)
                raise ServiceDownError(f"no server answers after {self._settings.connect_seconds:g} s: {reasons}")
            await self._wait_for_change(until)

    async def probe(self, question: Askable, parse: Callable[[str, Mapping[str, Array]], _Answer]) -> _Answer:
        """Ask ``question`` as :meth:`infer` does, without waiting for the requests in flight of this client."""
        return await self._ask(question, parse)

    async def _tell_troubles(self, until: float) -> None:
        """Log at once why endpoints cannot be used.

        Raises ServiceDownError when none can be used and waiting does not help.
        """
        troubled = [each for each in self._endpoints if not each.is_ready and each.mismatch is None]
        await asyncio.gather(*(each.diagnose() for each in troubled))
        lasting = [each for each in troubled if each.diagnosis is not None and each.diagnosis.is_lasting]
        if len(lasting) == len(self._endpoints):
            raise ServiceDownError("; ".join(each.trouble for each in lasting))
        left_s = max(until - monotonic(), 0.0)
        for each in troubled:
            if each.failure is not None and each.failure.kind is not FailureKind.FATAL:
                _LOG.warning("%s; trying for %.0f s more", each.trouble, left_s)

    async def _check_all(self, until: float) -> None:
        """Check all endpoints once, until ``until``. When one is ready, the others get a few more seconds.

        Raises SettingsError for settings that cannot be used.
        """
        pending = {asyncio.create_task(self._check_one(each, until)) for each in self._endpoints}
        latest = until + _SLACK_SECONDS
        try:
            while pending and monotonic() < latest:
                done, pending = await asyncio.wait(
                    pending, timeout=latest - monotonic(), return_when=asyncio.FIRST_COMPLETED
                )
                for check in done:
                    try:
                        check.result()
                    except CallError:
                        pass
                    except ModelError as error:
                        _LOG.warning("an endpoint is not used: %s", error)
                if any(each.is_ready for each in self._endpoints):
                    latest = min(latest, monotonic() + _OTHERS_SECONDS)
        finally:
            for check in pending:
                check.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _check_one(self, endpoint: Endpoint, until: float = math.inf) -> None:
        await endpoint.check(until)
        if endpoint.old_version is not None and not self._has_warned:
            self._has_warned = True
            _LOG.warning("%s", warning_of(endpoint.name, endpoint.old_version))

    async def infer(self, question: Askable, parse: Callable[[str, Mapping[str, Array]], _Answer]) -> _Answer:
        """Ask ``question`` until ``parse`` accepts an answer.

        Raises ModelError when no endpoint answers before the deadline, or after several faulty answers, InputError when
        the question is a note that is held back.
        """
        self._metrics.queued.inc()
        began = monotonic()
        try:
            await self._slots.acquire()
        finally:
            self._metrics.queued.dec()
            self._metrics.queue_seconds.observe(monotonic() - began)
        try:
            with self._metrics.in_flight.track_inprogress():
                answer = await self._ask(question, parse)
        except DeidError:
            self._metrics.requests.labels("failed").inc()
            raise
        finally:
            self._slots.release()
        self._metrics.requests.labels("answered").inc()
        return answer

    async def _ask(self, question: Askable, parse: Callable[[str, Mapping[str, Array]], _Answer]) -> _Answer:
        began = monotonic()
        until = began + self._settings.batch_seconds
        calls = faults = 0
        last: Endpoint | None = None
        failure: CallError | None = None
        while True:
            endpoint = await self._choose(began, until, last, failure)
            if calls:
                self._metrics.retries.inc()
                self._metrics.failovers.inc(endpoint is not last)
            calls += 1
            last = endpoint
            try:
                answer = await self._call(endpoint, question, parse, until)
            except CallError as failed:
                failure = failed
                if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED and not endpoint.is_silent:
                    _LOG.warning("%s gave no answer in time; it is not used until it answers a probe", endpoint.name)
                endpoint.failed(failure)
            else:
                endpoint.succeeded()
                self._is_trial = False
                return answer
            if failure.kind is FailureKind.FATAL:
                raise failure.as_error()
            if failure.kind is FailureKind.FAULT:
                faults += 1
                if faults >= self._settings.fault_attempts:
                    raise ModelError(f"{failure}, as {faults - 1} calls before it did. See the server's log")
                await asyncio.sleep(endpoint.pause(faults))
            elif (
                self._is_trial
                and failure.code is not grpc.StatusCode.RESOURCE_EXHAUSTED  # a busy server is not down
                and not any(each.is_ready for each in self._endpoints)
            ):
                raise self._gone(f"{failure}, after it had come back", monotonic())

    async def _call(
        self,
        endpoint: Endpoint,
        question: Askable,
        parse: Callable[[str, Mapping[str, Array]], _Answer],
        until: float,
    ) -> _Answer:
        request = question.request(next(self._request_ids))
        began, streams = monotonic(), endpoint.streams_opened
        status = "OK"
        try:
            answer = await endpoint.infer(request, self._seconds_for(question, endpoint, until - began))
            self._metrics.call_seconds.observe(monotonic() - began)
            return parse(endpoint.name, question.read(endpoint.name, answer, request.id))
        except CallError as failure:
            status = "BAD_ANSWER" if isinstance(failure, BadAnswerError) else failure.code.name
            if failure.refusal is not None:
                self._metrics.refusals.labels(failure.refusal).inc()
            raise
        finally:
            self._metrics.calls.labels(endpoint.address.endpoint, status).inc()
            if endpoint.streams_opened > streams:
                self._metrics.reconnects.labels(endpoint.address.endpoint).inc(endpoint.streams_opened - streams)

    def _seconds_for(self, question: Askable, endpoint: Endpoint, left: float) -> float:
        """Return the deadline of one call in seconds. ``left`` is the seconds left for the question.

        A large question gets more time. While another endpoint is ready, half of the time is kept for it.
        """
        if any(each.is_ready for each in self._endpoints if each is not endpoint):
            left /= 2
        size = max(1.0, question.tokens / _CALL_TOKENS)
        return min(self._settings.call_seconds * size, max(left, 0.001))

    async def _choose(self, began: float, until: float, avoid: Endpoint | None, failure: CallError | None) -> Endpoint:
        """Return the least busy endpoint that is ready, if possible not ``avoid``.

        While other endpoints are ready, an endpoint on trial gets one request at a time. Raises ServiceDownError when
        no endpoint is ready before ``until``, or when the service is down.
        """
        while True:
            if self._down is not None:
                raise ServiceDownError(self._down)
            ready = [each for each in self._endpoints if each.is_ready]
            if ready:
                chosen = min(
                    ready,
                    key=lambda each: (
                        each is avoid,
                        each.is_on_trial and each.in_flight > 0,
                        each.is_leaving,
                        each.in_flight,
                        each.last_turn,
                    ),
                )
                chosen.last_turn = next(self._turns)
                return chosen
            if all(each.mismatch for each in self._endpoints):
                raise self._gone(str(self._endpoints[0].mismatch), monotonic())
            if monotonic() >= until:
                lasting = (each.trouble for each in self._endpoints if each.diagnosis and each.diagnosis.is_lasting)
                reason = next(lasting, None) or failure
                reason = reason or next((each.failure for each in self._endpoints if each.failure), None)
                raise self._gone(f"given up after {self._settings.batch_seconds:g} s: {reason}", began)
            await self._wait_for_change(until)

    async def _wait_for_change(self, until: float) -> None:
        """Wait until an endpoint was checked, the pause of an endpoint ends, or the time is ``until``."""
        pauses = [each.retry_at for each in self._endpoints if not each.unchecked.is_set()]
        with suppress(TimeoutError):
            async with asyncio.timeout(max(min([until, *pauses]) - monotonic(), 0.0)):
                await self._changed.wait()

    async def _look_up(self) -> None:
        """Resolve the names of the endpoints; add new addresses, and mark addresses that a name no longer has."""
        names = self._settings.endpoints
        current: set[Address] = set()
        for name, found in zip(names, await asyncio.gather(*map(look_up, names)), strict=True):
            known = [each.address for each in self._endpoints if each.address.endpoint == name]
            current.update(found or known or [Address(name)])
        for each in self._endpoints:
            each.is_leaving = each.address not in current
        added = [each for each in current if all(each != endpoint.address for endpoint in self._endpoints)]
        random.shuffle(added)  # many clients may start together, and must not all begin with the same server
        self._endpoints += [Endpoint(each, self._settings, self._check) for each in added]

    async def _follow_names(self) -> None:
        """Resolve the names at regular intervals.

        An address that a name no longer has is removed when it is idle, and another endpoint is ready or this one is
        not.
        """
        while True:
            await asyncio.sleep(self._settings.lookup_seconds)
            await self._look_up()
            for each in self._endpoints:
                if each not in self._keepers:
                    self._start_keeping(each)
            has_others = any(each.is_ready and not each.is_leaving for each in self._endpoints)
            for each in list(self._endpoints):
                if each.is_leaving and not each.in_flight and (has_others or not each.is_ready):
                    self._endpoints.remove(each)
                    self._keepers.pop(each).cancel()
                    await each.close()

    def _start_keeping(self, endpoint: Endpoint) -> None:
        self._keepers[endpoint] = asyncio.create_task(self._keep(endpoint), name=f"keep {endpoint.name}")

    async def _keep(self, endpoint: Endpoint) -> None:
        """Check an endpoint whenever it counts as unchecked."""
        while True:
            await endpoint.unchecked.wait()
            await asyncio.sleep(max(endpoint.retry_at - monotonic(), 0.0))
            try:
                await self._check_one(endpoint)
            except CallError as failure:
                await self._tell_lasting_cause(endpoint, failure)
                if failure.kind is not FailureKind.TRANSIENT:
                    await asyncio.sleep(self._settings.longest_pause_seconds)
            except DeidError as error:
                _LOG.warning("an endpoint is not used: %s", error)
                endpoint.retry_at = max(endpoint.retry_at, monotonic() + self._settings.longest_pause_seconds)
            except Exception as error:  # noqa: BLE001 - if this task ended, its endpoint would never be used again
                _LOG.warning("an endpoint is not used: %s in its check", type(error).__name__)
                await asyncio.sleep(self._settings.longest_pause_seconds)
            else:
                if self._down is not None:
                    _LOG.warning("the service is back: %s", endpoint.name)
                    self._down, self._is_trial = None, True
                    self._metrics.is_down.set(0)
            self._tell_change()

    async def _tell_lasting_cause(self, endpoint: Endpoint, failure: CallError) -> None:
        """Say once when an endpoint is out of reach for a cause that waiting does not remove, as a certificate."""
        if failure.code is not grpc.StatusCode.UNAVAILABLE:
            return
        known = endpoint.diagnosis  # it may be that of a server that was just ending
        with suppress(DeidError):  # a TLS file that is being replaced
            await endpoint.diagnose()
        found = endpoint.diagnosis
        if found is not None and found.is_lasting and found != known:
            _LOG.warning("%s", endpoint.trouble)

    def _tell_change(self) -> None:
        """Wake up the questions that wait for an endpoint."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _gone(self, reason: str, since: float) -> ServiceDownError:
        """Return the error to raise. The service is down when no endpoint has answered any request or probe ``since``.

        When only probes were answered, the cause may be this question or the service, so the next question is a trial.
        """
        is_served = any(each.is_healthy or each.answered_at > since for each in self._endpoints)
        self._is_trial = not is_served and any(each.probed_at > since for each in self._endpoints)
        if self._down is None and not is_served and not self._is_trial:
            _LOG.warning("the service is down: %s", reason)
            self._down = f"the service is down: {reason}"
            self._metrics.is_down.set(1)
            for each in self._endpoints:  # a successful check ends the down state
                each.unchecked.set()
            self._tell_change()
        return ServiceDownError(reason)

    async def close(self) -> None:
        """Close all connections."""
        for task in (*self._keepers.values(), *filter(None, [self._follower])):
            task.cancel()
        await asyncio.gather(*(each.close() for each in self._endpoints))
