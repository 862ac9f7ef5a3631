# SPDX-License-Identifier: Apache-2.0
"""Work on many values in as many processes as there are cores."""

import multiprocessing
import os
import signal
import traceback

from tutti.lines import ResultsError


def each(action, values):
    """Yields action(value) of each value in their order. Forked processes compute them, so that `values` need not be
    pickled; results are. Raises what action() raises, and ResultsError if a process is killed."""
    values = list(values)
    count = min(len(os.sched_getaffinity(0)), len(values))
    if count < 2:
        yield from map(action, values)
        return
    forking = multiprocessing.get_context("fork")
    pipes = [forking.Pipe(duplex=False) for _ in range(count)]
    workers = [forking.Process(target=_work, args=(action, values[first::count], pipes, first), daemon=True) for first in range(count)]
    try:
        for worker in workers:
            worker.start()
        for _, sender in pipes:
            sender.close()
        for place in range(len(values)):
            yield _received(pipes[place % count][0])
    finally:  # also where the reader of the results wants no more of them
        for worker in workers:
            if worker.pid:
                worker.terminate()
                worker.join()


def _work(action, values, pipes, place):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
    for number, (receiver, sender) in enumerate(pipes):
        receiver.close()
        if number != place:
            sender.close()  # so that the parent sees the end of a killed process
    for value in values:
        try:
            result = action(value), None
        except (ResultsError, OSError) as error:  # the parent raises it
            result = None, error
        except Exception:  # others may hold what cannot be sent
            result = None, RuntimeError(traceback.format_exc())
        pipes[place][1].send(result)


def _received(receiver):
    try:
        result, error = receiver.recv()
    except EOFError:
        raise ResultsError("a process that draws figures was killed; run it again, on fewer files if memory was short") from None
    if error:
        raise error
    return result
