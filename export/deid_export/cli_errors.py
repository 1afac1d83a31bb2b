"""How the commands of ``deid-export`` tell what went wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from deid_runtime.errors import DeidError


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn our errors into one line and exit code 1."""
    try:
        yield
    except DeidError as error:
        raise click.ClickException(str(error)) from error
