"""Test messages over a real socket pair, also messages that stop in the middle."""

import pickle
import socket
import struct
from threading import Thread

import pytest

from deid_runtime.run.mailbox import Mailbox, receive, send


def test_messages_arrive_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    mailbox = Mailbox(ours)
    large = "x" * 5_000_000
    with theirs, theirs.makefile("rwb") as worker:
        mailbox.post([large])
        mailbox.post("second")
        assert mailbox.is_sending  # the worker reads nothing yet, and nothing waits for it

        def flush() -> None:
            while mailbox.is_sending:
                mailbox.flush()

        thread = Thread(target=flush)
        thread.start()
        assert [receive(worker), receive(worker)] == [[large], "second"]
        thread.join()

        sender = Thread(target=lambda: [send(worker, large), send(worker, 5)])
        sender.start()
        messages: list[object] = []
        while len(messages) < 2:
            messages += mailbox.collect()
        sender.join()
        assert messages == [large, 5]
    mailbox.close()


def test_a_message_that_stops_in_the_middle_stops_nobody() -> None:
    ours, theirs = socket.socketpair()
    mailbox = Mailbox(ours)
    data = pickle.dumps("answer")
    framed = struct.pack("!Q", len(data)) + data
    for byte in framed[:-1]:
        theirs.send(bytes([byte]))
        assert mailbox.collect() == []

    theirs.send(framed[-1:])
    assert mailbox.collect() == ["answer"]
    mailbox.close()
    theirs.close()


def test_what_was_sent_before_the_end_counts() -> None:
    ours, theirs = socket.socketpair()
    mailbox = Mailbox(ours)
    mailbox.post("never read")
    with theirs, theirs.makefile("rwb") as worker:
        send(worker, "last words")
    assert mailbox.collect() == ["last words"]
    with pytest.raises(EOFError):
        mailbox.collect()
    with pytest.raises(OSError, match="pipe|reset"):
        mailbox.post("too late")
    mailbox.close()


def test_what_is_no_message_is_as_good_as_an_end() -> None:
    ours, theirs = socket.socketpair()
    mailbox = Mailbox(ours)
    theirs.send(struct.pack("!Q", 5) + b"Smith")

    with pytest.raises(EOFError) as caught:
        mailbox.collect()
    assert "Smith" not in str(caught.value)
    mailbox.close()
    theirs.close()
