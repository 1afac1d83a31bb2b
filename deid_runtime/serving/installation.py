"""Finds the server in the pytriton wheel and lays out what it needs to load our python models."""

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

#: Folders to import from, for the ``model.py`` of each model.
PATH_VARIABLE: Final = "DEID_SERVE_PYTHONPATH"

_INSTALL: Final = install_extra("serve")


@dataclass(frozen=True)
class Installation:
    """Where the parts of the server are."""

    server: Path
    libraries: Path
    backend: Path  # the folder with the python backend's library
    stub: Path  # the process that runs a model, for the Python in use


def find_installation() -> Installation:
    """Return the server of the installed wheel.

    Raises SettingsError when it or what it needs is missing: the wheel, numpy 1, a stub and the shared library of this
    Python.
    """
    # Found, not imported: the import changes the process for servers of its own.
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
        raise SettingsError(f"the server of the installed nvidia-pytriton has no part for Python {version}; use 3.11")
    if int(importlib.metadata.version("numpy").partition(".")[0]) >= 2:
        # The stub is built against numpy 1; with numpy 2 outputs come back empty, without an error.
        raise SettingsError(
            f"the server needs numpy 1, numpy {importlib.metadata.version('numpy')} is installed; {_INSTALL}"
        )
    _check_shared_python(version)
    return found


def _check_shared_python(version: str) -> None:
    """Raise SettingsError unless the stub will find the library of this Python, which Debian packs by itself."""
    name = f"libpython{version}.so.1.0"
    if (_python_libraries() / name).is_file():
        return
    try:
        ctypes.CDLL(name)
    except OSError:
        raise SettingsError(
            f"the server needs {name}, which this Python does not bring; on Debian and Ubuntu: apt-get install "
            f"libpython{version}"
        ) from None


def _python_libraries() -> Path:
    return Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")


def lay_out_backends(installation: Installation, folder: Path) -> Path:
    """Copy the python backend and its stub together, where the server looks for both; return the backend directory."""
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
    """Return the environment of the server: that of this process, with its libraries and the Python in use.

    A model's process finds its standard library through the Python that is first on the path, and nothing through
    ``PYTHONPATH``, which it ignores: our ``model.py`` takes :data:`PATH_VARIABLE` instead.
    """
    environment = dict(os.environ)
    libraries = [str(installation.libraries), str(_python_libraries()), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    ours = Path(__file__).resolve().parents[2]
    environment[PATH_VARIABLE] = os.pathsep.join(dict.fromkeys(filter(None, [*sys.path, str(ours)])))
    # What an image says of its own server is not true of this one.
    environment.pop(VERSION_VARIABLE, None)
    # Two runtimes for parallel loops in one process fight for the cores; the engine's threads are set by themselves.
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment
