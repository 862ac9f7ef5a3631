# SPDX-License-Identifier: Apache-2.0
"""What several threads do with one process group."""
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


def one_worker_has_the_messages_to_a_peer():
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
    assert len(made) == 1, f"{len(made)} threads for the messages to one peer"


def many_works_that_nobody_asks_are_begun_at_once():
    class LookedAt:
        """A future: while it is looked at another thread begins a work, after one has been asked for."""

        def done(self):
            number, another = work.UNASKED.popitem(last=False)
            work.UNASKED[-number] = another
            return True

    for _ in range(3 * work.MOST_UNASKED):
        work.Work(None, LookedAt())
    work.UNASKED.clear()


def blocked_messages_end_a_group_all_together_late():
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


def a_task_that_raises_leaves_its_thread_to_the_next():
    def fails():
        raise ValueError("as it must")

    problems, has_run = [], threading.Event()
    hook, threading.excepthook = threading.excepthook, lambda told: problems.append(str(told.exc_value))
    threads = Threads()
    threads.run(fails)
    assert threads.wait_for_all(10)
    threads.run(has_run.set)
    assert has_run.wait(10), "no thread takes the task after one that raised"
    threading.excepthook = hook
    assert problems == ["as it must"], problems


one_worker_has_the_messages_to_a_peer()
a_task_that_raises_leaves_its_thread_to_the_next()
many_works_that_nobody_asks_are_begun_at_once()
blocked_messages_end_a_group_all_together_late()
dist.all_reduce(one)
