"""Let ``python -m deid_runtime`` run ``deid``."""

from deid_runtime.cli.main import main

main()
