"""The server that runs the models of a pipeline: ``Settings(server=TritonServer(...))``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deid_client.settings import ServerSettings
from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from deid_client.tagger import TritonTagger


@dataclass(frozen=True, kw_only=True)
class TritonServer(ServerSettings):
    """A :class:`deid_runtime.settings.Server` reached over gRPC. It can be pickled for worker processes."""

    def connect(self, settings: Settings) -> "TritonTagger":
        """Connect, check that the server has the models of ``settings``, and return a tagger that uses the server.

        Raises ModelError when no server answers or a server has other models, SettingsError for a wrong setting.
        """
        try:
            from deid_client.tagger import load_tagger
        except (ImportError, RuntimeError) as error:  # tritonclient raises RuntimeError for a missing library
            raise ModelError(f"--server needs more libraries ({error}); {install_extra('client')}") from error
        return load_tagger(settings, self)
