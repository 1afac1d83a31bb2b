"""Find the server in the pytriton wheel and prepare the files that it needs to load the project's python models."""

import ctypes
import importlib.metadata
import importlib.util
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.serving.triton_requests import VERSION_VARIABLE
from deid_runtime.system.extras import install_extra

#: The environment variable with the import path for the ``model.py`` of each model.
PATH_VARIABLE: Final = "DEID_SERVE_PYTHONPATH"

_INSTALL: Final = install_extra("serve")


@dataclass(frozen=True)
class Installation:
    """The paths of the server's parts."""

    server: Path
    libraries: Path
    backend: Path  # the folder with the python backend's library
    stub: Path  # the executable that runs a python model, for the Python version in use


def find_installation() -> Installation:
    """Return the server of the installed wheel.

    Raises SettingsError when one of these is missing: the wheel, its server binary, numpy 1, a stub for this Python
    version, or the shared library of this Python.
    """
    # The package is located, not imported: its import changes this process for the servers that it starts itself.
    spec = importlib.util.find_spec("pytriton")
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError(f"the inference server is not installed; {_INSTALL}")
    package = Path(spec.submodule_search_locations[0])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = Installation(
        server=package / "tritonserver" / "bin" / "tritonserver",
        libraries=package.parent / "nvidia_pytriton.libs",
        backend=package / "tritonserver" / "backends" / "python",
        stub=package / "tritonserver" / "python_backend_stubs" / version / "triton_python_backend_stub",
    )
    if not found.server.is_file():
        raise SettingsError(f"no server binary at {found.server}; {_INSTALL} on Linux, x86-64")
    if not found.stub.is_file():
        raise SettingsError(f"the server of the installed nvidia-pytriton does not support Python {version}; use 3.11")
    if int(importlib.metadata.version("numpy").partition(".")[0]) >= 2:
        # The stub is built against numpy 1; with numpy 2 outputs come back empty, without an error.
        raise SettingsError(
            f"the server needs numpy 1, but numpy {importlib.metadata.version('numpy')} is installed; {_INSTALL}"
        )
    _check_shared_python(version)
    return found


def _check_shared_python(version: str) -> None:
    """Raise SettingsError unless the stub can find the shared library of this Python.

    On Debian, that library is a separate package.
    """
    name = f"libpython{version}.so.1.0"
    if (_python_libraries() / name).is_file():
        return
    try:
        ctypes.CDLL(name)
    except OSError:
        raise SettingsError(
            f"the server needs {name}, which this Python lacks; on Debian and Ubuntu: apt-get install "
            f"libpython{version}"
        ) from None


def _python_libraries() -> Path:
    return Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")


def lay_out_backends(installation: Installation, folder: Path) -> Path:
    """Copy the python backend and its stub into one folder, as the server expects; return the backend directory."""
    target = folder / "backends" / "python"
    target.mkdir(parents=True)
    for path in (
        installation.backend / "libtriton_python.so",
        installation.backend / "triton_python_backend_utils.py",
        installation.stub,
    ):
        shutil.copy2(path, target)
    return target.parent


def server_environment(installation: Installation) -> dict[str, str]:
    """Return the environment of the server: this process's environment plus library paths and the Python in use.

    A model's process finds its standard library through the first Python on ``PATH``. It ignores ``PYTHONPATH``, so the
    project's ``model.py`` reads :data:`PATH_VARIABLE` instead.
    """
    environment = dict(os.environ)
    libraries = [str(installation.libraries), str(_python_libraries()), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    ours = Path(__file__).resolve().parents[2]
    environment[PATH_VARIABLE] = os.pathsep.join(dict.fromkeys(filter(None, [*sys.path, str(ours)])))
    # A container image may set the version of its own server, which is not this server.
    environment.pop(VERSION_VARIABLE, None)
    # Two OpenMP runtimes in one process compete for the cores. The threads of the engine are set separately.
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment
