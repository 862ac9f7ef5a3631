# SPDX-License-Identifier: Apache-2.0
"""One rank whose callbacks begin collectives. Usage: callbacks.py FUNCTION, such as nested."""
import contextlib
import datetime
import sys
import threading
import time

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401  # pylint: disable=unused-import  # registers the backend

torch.set_num_threads(1)
dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
RANK, RANKS = dist.get_rank(), dist.get_world_size()

WAITS = {
    "future": lambda tensor, group=None: dist.all_reduce(tensor, group=group, async_op=True).get_future().wait(),
    "work": lambda tensor, group=None: dist.all_reduce(tensor, group=group, async_op=True).wait(),
    "blocking": lambda tensor, group=None: dist.all_reduce(tensor, group=group),
}


def begin(tensor):
    return dist.all_reduce(tensor, async_op=True).get_future()


@contextlib.contextmanager
def held(group=None):
    """No call ends inside this block. So callbacks run when the call ends, and not where the test adds them."""
    worker = (group or dist.distributed_c10d._get_default_group())._worker
    with worker.turn:
        yield
    worker.wake()


def then(callback):
    """Begins a collective with a callback. Returns the future of the callback."""
    with held():
        return begin(torch.ones(2)).then(callback)


def expect(what, expected):
    assert what == expected, f"rank {RANK}: {what}, not {expected}"


def text_of_error(wait):
    try:
        wait()
    except RuntimeError as problem:
        return str(problem)
    raise AssertionError("no error")


def nested():
    """Each callback waits for a collective, and for the callback of another one."""
    def level(depth, wait, tensors):
        def callback(_):
            wait(tensors[depth])
            if depth > 0:
                then(level(depth - 1, wait, tensors)).wait()
            return depth
        return callback

    for name, wait in WAITS.items():
        tensors = [torch.ones(3 + place) for place in range(5)]
        expect(begin(torch.ones(2)).then(level(4, wait, tensors)).wait(), 4)
        expect([each[0].item() for each in tensors], [RANKS] * 5)
        print(name, flush=True)


def done_callbacks():
    """add_done_callback returns no future to wait for."""
    ended, tensor = threading.Event(), torch.ones(3)

    def callback(_):
        begin(tensor).wait()
        ended.set()

    with held():
        begin(torch.ones(2)).add_done_callback(callback)
    expect(ended.wait(30), True)
    expect(tensor[0].item(), RANKS)


def collected():
    """torch.futures.collect_all completes a future of several collectives."""
    for count in (1, 2):
        tensor = torch.ones(3)
        with held():
            futures = [begin(torch.ones(2)) for _ in range(count)]
            waits = torch.futures.collect_all(futures).then(lambda _, tensor=tensor: begin(tensor).wait())
        waits.wait()
        expect(tensor[0].item(), RANKS)


def in_turn():
    """Callbacks of several calls, some of them slow, begin calls of other sizes. All ranks begin these in one order."""
    calls = 12
    for wait in WAITS.values():
        tensors = [torch.full((100 + place,), float(place)) for place in range(calls)]

        def callback(place, wait=wait, tensors=tensors):
            def run(_):
                if (place + RANK) % 3 == 0:
                    time.sleep(0.02)
                wait(tensors[place])
                if (place + RANK) % 4 == 0:
                    time.sleep(0.02)
                wait(tensors[place])
            return run

        with held():
            futures = [begin(torch.ones(2)).then(callback(place)) for place in range(calls)]
        for each in futures:
            each.wait()
        expect([each[-1].item() for each in tensors], [float(place * RANKS ** 2) for place in range(calls)])


def later_calls():
    """A callback waits for a call that the program began later."""
    with held():
        first, second = begin(torch.ones(2)), begin(torch.ones(3))
        waits = first.then(lambda _: second.wait())
    waits.wait()


def slow():
    """A callback takes longer on rank 0. The next callback waits for it there."""
    tensors = torch.ones(3), torch.full((3,), 10.0)

    def computes_first(_):
        time.sleep(1.5 if RANK == 0 else 0)
        begin(tensors[0]).wait()

    with held():
        futures = [begin(torch.ones(2)).then(computes_first), begin(torch.ones(2)).then(lambda _: begin(tensors[1]).wait())]
    for each in futures:
        each.wait()
    expect([each[0].item() for each in tensors], [RANKS, 10 * RANKS])


def cycle():
    """A callback waits for a callback of a later call, whose own call must wait for the first callback. The timeout resolves this
    deadlock with an error."""
    group = dist.new_group(backend="tutti", timeout=datetime.timedelta(seconds=2))
    ended = threading.Event()

    def begin_in_group():
        return dist.all_reduce(torch.ones(2), group=group, async_op=True).get_future()

    for wait in (lambda: begins.wait(), lambda: ended.wait(30)):  # pylint: disable=unnecessary-lambda
        ended.clear()
        with held(group):
            first, second = begin_in_group(), begin_in_group()
            begins = second.then(lambda _: begin_in_group().wait())
            waits = first.then(lambda _, wait=wait: wait())  # this line is named
        began, text = time.monotonic(), text_of_error(begins.wait)
        expect(1 < time.monotonic() - began < 10, True)
        expect("callbacks.py:" in text, True)
        ended.set()
        with contextlib.suppress(RuntimeError):
            waits.wait()
    tensor = torch.ones(2)
    dist.all_reduce(tensor, group=group)
    expect(tensor[0].item(), RANKS)


def waiting_thread():
    """A thread that waits for a call runs no callback: these callbacks wait until that thread continues."""
    returned = threading.Event()
    with held():
        works = [dist.all_reduce(torch.ones(2), async_op=True) for _ in range(4)]
        waits = [work.get_future().then(lambda _: returned.wait(20)) for work in works]
    works[-1].wait()
    returned.set()
    expect([each.wait() for each in waits], [True] * 4)


def raising():
    """If a callback raises an error, its future fails, and the group still works."""
    def fails(_):
        begin(torch.ones(2)).wait()
        raise ValueError("as it must")

    expect("as it must" in text_of_error(then(fails).wait), True)
    expect("as it must" in text_of_error(then(lambda _: then(fails).wait()).wait), True)
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    expect(tensor[0].item(), RANKS)


def lost():
    """Rank 1 does not join the call of rank 0's callback. The group's timeout ends each way of waiting."""
    for name, wait in WAITS.items():
        group = dist.new_group(backend="tutti", timeout=datetime.timedelta(seconds=2))
        with held(group):
            future = dist.all_reduce(torch.ones(2), group=group, async_op=True).get_future()
            waits = future.then(lambda _, wait=wait, group=group: wait(torch.ones(3), group) if RANK == 0 else None)
        if RANK == 1:
            waits.wait()
            time.sleep(3)
            continue
        began = time.monotonic()
        expect("rank 1" in text_of_error(waits.wait), True)
        expect(1 < time.monotonic() - began < 10, True)
        print(name, flush=True)


def threads():
    """Threads are kept and reused for later callbacks."""
    for _ in range(100):
        begin(torch.ones(2)).wait()
    expect(threading.active_count() < 10, True)
    for _ in range(100):
        then(lambda _: begin(torch.ones(3)).wait()).wait()
    expect(threading.active_count() < 10, True)


def outstanding():
    """The program ends while callbacks run; one of them begins a call."""
    then(lambda _: time.sleep(1))
    then(lambda _: (time.sleep(0.5), begin(torch.ones(3)).wait()))
    dist.barrier()


def destroyed():
    """The process group is destroyed while callbacks run."""
    futures = [then(lambda _: time.sleep(0.5)) for _ in range(3)]
    dist.barrier()
    dist.destroy_process_group()
    for each in futures:
        each.wait()


def outstanding_cycle():
    """The program ends while a callback waits for an earlier one, which waits for it."""
    def waits_for_the_later_one(_):
        expect("the process group has ended" in text_of_error(begins.wait), True)
        print("ends", flush=True)

    with held():
        first, second = begin(torch.ones(2)), begin(torch.ones(2))
        begins = second.then(lambda _: begin(torch.ones(2)).wait())
        first.then(waits_for_the_later_one)
    dist.barrier()


globals()[sys.argv[1]]()
