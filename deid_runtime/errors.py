"""Everything this library raises on purpose.

::

    DeidError
    ├── InputError        one record is bad: it is quarantined, the run goes on
    ├── SourceError       a whole input cannot be read: missing column, bad header, unreadable file
    ├── SettingsError     a setting, key file, list or template file is wrong
    ├── ModelError        models missing or mismatched, or a server that does not answer
    │   ├── EngineError   an inference engine failed or gave an impossible answer
    │   └── InstallationError   a file of the installation is missing
    └── OutputError       the output cannot be written
        └── DefectError   this library contradicts itself

Messages name the input by id, line or size, say what was expected and how to mend it. They never hold note text.
"""


class DeidError(Exception):
    """Any error of this library; the command line turns it into one line and an exit code."""


class InputError(DeidError, ValueError):
    """One record that cannot be processed. ``stage`` names where, for the quarantine file."""

    def __init__(self, message: str, *, stage: str = "read") -> None:
        super().__init__(message)
        self.stage = stage


class SourceError(DeidError, ValueError):
    """An input file or folder that cannot be read as the format it claims."""


class SettingsError(DeidError, ValueError):
    """A setting, key, word list or template file that is wrong."""


class ModelError(DeidError, RuntimeError):
    """Models that are missing or do not fit this version, or a server that does not answer."""


class EngineError(ModelError):
    """An inference engine failed or gave an impossible answer; its process is not trusted any more.

    The answers of other calls may be wrong without a sign of it, so the note is done again in a fresh process.
    """


class InstallationError(ModelError):
    """A file that is installed with this library is missing: nothing that was asked for is wrong."""


class OutputError(DeidError, RuntimeError):
    """The output cannot be written where it was asked for."""


class DefectError(OutputError):
    """This library contradicts itself, so nothing is put out."""
