"""Access to the asynchronous service from synchronous code, through one event loop in one thread."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from tritonclient.grpc import model_config_pb2

from deid_client.agreement import check_models
from deid_client.metrics import ClientMetrics
from deid_client.probe import known_window
from deid_client.routes import Infer, Router, Votes
from deid_client.service import Service
from deid_client.settings import ServerSettings
from deid_client.tensors import Array
from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import INPUTS, Manifest, Profile
from deid_runtime.system.closing import Closing

_Result = TypeVar("_Result")
_CLOSE_SECONDS: Final = 5.0


class Connection(Closing):
    """A service with the models of one profile. A context manager. Threads may share it; processes may not.

    An endpoint is used only after two checks: its configuration matches the model manifest, and every model has given
    a valid answer to a known window.

    Raises ModelError when no server answers, or when a server has other models or gives an invalid answer.
    """

    def __init__(
        self, settings: ServerSettings, manifest: Manifest, profile: Profile, metrics: ClientMetrics | None = None
    ) -> None:
        self.settings = settings
        self.metrics = metrics or ClientMetrics()
        content: Any = manifest.content
        self.metrics.set_models({graph.name: content["graphs"][graph.name]["sha256"] for graph in profile.graphs})
        self._router = Router(settings.route, profile.graphs, len(profile.graphs) == len(manifest.graphs))
        needed = self._router.needed()
        window = known_window(manifest)

        async def check(
            endpoint: str, config_of: Callable[[str], Awaitable[model_config_pb2.ModelConfig]], infer: Infer
        ) -> None:
            await check_models(endpoint, needed, manifest, settings.request_rows, config_of)
            await self._router.ask(infer, window)

        async def open_service() -> Service:
            service = Service(settings, check, self.metrics)
            try:
                await service.open()
            except BaseException:
                await service.close()
                raise
            return service

        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_ignore)
        self._thread = threading.Thread(target=self._loop.run_forever, name="deid-client", daemon=True)
        self._thread.start()
        try:
            self._service: Service | None = self._run(open_service()).result()
        except BaseException:
            self._stop()
            raise

    def ask(self, inputs: tuple[Array, Array, Array]) -> Future[Votes]:
        """Run all heads on ``inputs``: ids, types and mask, int32 ``(rows, tokens)``. Return a future at once.

        The future raises ModelError when the service gives no valid answer.
        """
        if self._service is None or os.getpid() != self._process:
            raise ModelError(
                "the connection is closed, or was opened by another process; load a new pipeline in this process"
            )
        self.metrics.tokens.inc(inputs[0].size)
        named = dict(zip(INPUTS, inputs, strict=True))
        return self._run(self._router.ask(self._service.infer, named))

    def close(self) -> None:
        """Close all connections and end the thread. Requests in progress are cancelled."""
        service, self._service = self._service, None
        if service is not None and os.getpid() == self._process:
            try:
                self._run(_end(service)).result(_CLOSE_SECONDS)
            finally:
                self._stop()

    def _run(self, coroutine: Coroutine[object, object, _Result]) -> Future[_Result]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


async def _end(service: Service) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await service.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _ignore(loop: asyncio.AbstractEventLoop, context: object) -> None:
    """Ignore errors that the event loop reports: the caller gets them anyway, and the report shows arguments.

    In a process with several event loops, gRPC also reports a harmless BlockingIOError here.
    """
