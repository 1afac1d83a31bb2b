"""``deid`` with a watchdog that gives workers seconds in place of minutes: for attacks that stop many of them.

python benchmarks/hostile/hasty.py run IN --out OUT ...
"""

from functools import partial
from unittest.mock import patch

from deid_runtime.cli.main import main
from deid_runtime.run import workers
from deid_runtime.run.watchdog import Patience

#: Still more than a healthy worker takes on a machine that is busy with other things.
IDLE_S, LOAD_S = 6.0, 45.0

if __name__ == "__main__":  # worker processes import this file, too
    with patch.object(workers, "Patience", partial(Patience, idle_s=IDLE_S, load_s=LOAD_S)):
        main()
