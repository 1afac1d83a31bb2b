"""De-identify a stream of notes with the models on a server.

Start one first (`deid serve`), install the extra [client] (in a clone: pip install '.[client]'), then run

    python examples/stream_notes.py 127.0.0.1:8001
"""

import asyncio
import sys
from collections.abc import AsyncIterator

from deid_runtime import DeidError, Note, Quarantined, new_key

try:
    from deid_client.notes import DeidClient
    from deid_client.server import TritonServer
except (ImportError, RuntimeError) as error:  # tritonclient turns the one into the other
    sys.exit(f"the client needs more libraries ({error}); in a clone of deid-runtime: pip install '.[client]'")

NOTES = [
    Note(id="1", patient="p7", text="Ms. Halvorsen, 87, seen 3/11/2019 by Dr. Lindqvist in Dundas. Call 507-555-0139."),
    Note(id="2", patient="p7", text="Margit Halvorsen rang again on the 14th; BP 120/80, no fever."),
]


async def arriving() -> AsyncIterator[Note]:
    """Stand for a queue or an interface engine: notes as they come."""
    for note in NOTES:
        await asyncio.sleep(0.1)
        yield note


async def main(*endpoints: str) -> None:
    """Print what may be handed on, in the order in which it came."""
    key = new_key()  # keep it: the same key gives the same surrogates and date shifts
    async with DeidClient(TritonServer(endpoints=endpoints), key=key) as client:
        async for note, outcome in client.deidentify(arriving()):
            if isinstance(outcome, Quarantined):  # its text must not be used
                print(note.id, "held back:", outcome.stage, outcome.reason)
            else:
                print(outcome.text)


if __name__ == "__main__":
    try:
        asyncio.run(main(*(sys.argv[1:] or ["127.0.0.1:8001"])))
    except DeidError as error:
        sys.exit(str(error))
