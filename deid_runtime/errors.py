"""The exceptions that this library raises on purpose.

::

    DeidError
    ├── InputError        one record is wrong: it is quarantined, and the run continues
    ├── SourceError       a whole input cannot be read: missing column, bad header, unreadable file
    ├── SettingsError     a setting, key file, list or template file is wrong
    ├── ModelError        models are missing or do not match, or a server does not answer
    │   ├── EngineError   an inference engine failed or gave an impossible answer
    │   └── InstallationError   a file of the installation is missing
    └── OutputError       the output cannot be written
        └── DefectError   a check of this library's own result failed: a bug

Messages name the input by id, line or size, and say what was expected and how to fix it. They never contain note text.
"""


class DeidError(Exception):
    """Base of all errors of this library. The command line prints it as one line and exits with an exit code."""


class InputError(DeidError, ValueError):
    """One record cannot be processed. ``stage`` names the stage that failed, for the quarantine file."""

    def __init__(self, message: str, *, stage: str = "read") -> None:
        super().__init__(message)
        self.stage = stage


class SourceError(DeidError, ValueError):
    """An input file or folder cannot be read in its declared format."""


class SettingsError(DeidError, ValueError):
    """A setting, key, word list or template file is wrong."""


class ModelError(DeidError, RuntimeError):
    """Models are missing or do not fit this version, or a server does not answer."""


class EngineError(ModelError):
    """An inference engine failed or gave an impossible answer; its process is no longer trusted.

    Its other answers may be wrong without any visible error, so the note is processed again in a new process.
    """


class InstallationError(ModelError):
    """A file that is installed with this library is missing; the user's input and settings are not the cause."""


class OutputError(DeidError, RuntimeError):
    """The output cannot be written at the requested place."""


class DefectError(OutputError):
    """A check of this library's own result failed, so no output is written. This is a bug of the library."""
