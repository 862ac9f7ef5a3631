# SPDX-License-Identifier: Apache-2.0
"""Several threads use one process group."""
import datetime
import threading
import time

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401  # pylint: disable=unused-import  # registers the backend
from tutti_torch import process_group, work
from tutti_torch.callbacks import Threads
from tutti_torch.worker import Worker

dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
group = dist.distributed_c10d._get_default_group()
one = torch.ones(1)


def messages_to_a_peer_have_one_worker():
    made = []

    class SlowToMake(Worker):
        def __init__(self, name, *arguments):
            made.append(name)
            time.sleep(0.2)
            super().__init__(name, *arguments)

    def moves(_, tensor, peer, tag):  # pylint: disable=unused-argument
        return [tensor]

    process_group.Worker = SlowToMake
    threads = [threading.Thread(target=lambda: group._start_with_peer(moves, [one], 0, 0).wait()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process_group.Worker = Worker
    assert len(made) == 1, f"{len(made)} workers"


def unawaited_works_may_begin_and_end_concurrently():
    class ConcurrentlyChanged:
        """A future that simulates another thread: whenever it is queried, one work ends and another begins."""

        def done(self):
            number, another = work.UNAWAITED.popitem(last=False)
            work.UNAWAITED[-number] = another
            return True

    for _ in range(3 * work.MOST_UNAWAITED):
        work.Work(None, ConcurrentlyChanged())
    work.UNAWAITED.clear()


def blocked_peers_delay_the_end_only_once():
    answer = threading.Event()
    blocked = {peer: Worker(f"to {peer}") for peer in range(6)}
    for worker in blocked.values():
        worker.submit(lambda: [one] if answer.wait(60) else None)
    process_group.SECONDS_FOR_MESSAGES = 0.5
    began = time.monotonic()
    process_group.close(None, blocked)
    took = time.monotonic() - began
    answer.set()
    assert 0.5 <= took < 2, f"{took} s"


def a_thread_survives_a_task_that_raises():
    def fails():
        raise ValueError("as it must")

    problems, has_run = [], threading.Event()
    hook, threading.excepthook = threading.excepthook, lambda raised: problems.append(str(raised.exc_value))
    threads = Threads()
    threads.run(fails)
    assert threads.wait_for_all(10)
    threads.run(has_run.set)
    assert has_run.wait(10)
    threading.excepthook = hook
    assert problems == ["as it must"], problems


messages_to_a_peer_have_one_worker()
a_thread_survives_a_task_that_raises()
unawaited_works_may_begin_and_end_concurrently()
blocked_peers_delay_the_end_only_once()
dist.all_reduce(one)
