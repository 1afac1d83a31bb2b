"""``python -m deid_runtime`` is ``deid``."""

from deid_runtime.cli.main import main

main()
