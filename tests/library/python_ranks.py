# SPDX-License-Identifier: Apache-2.0
"""One rank of python_test.py: python_ranks.py PART ADDRESS RANK SIZE, or python_ranks.py PART mpi. Prints "right"."""
import array
import ctypes
import itertools
import operator
import os
import random
import sys
import time

PART = sys.argv[1]
if PART == "buffers":
    sys.modules["numpy"] = None  # importing it fails

import tutti  # noqa: E402
from tutti import Op  # noqa: E402

N = 5  # elements of a block
DEADLINE = 60  # seconds
MANY = 40  # calls, after which a start makes no plan
OPERATORS = {Op.SUM: sum, Op.PROD: lambda values: list(itertools.accumulate(values, operator.mul))[-1], Op.MIN: min, Op.MAX: max}


def at(rank, i):
    return rank * 100 + i + 1


def of_rank(rank, blocks=1):
    return [at(rank, i) for i in range(blocks * N)]


class Arrays:
    """Data of numpy."""

    def made(self, values, letter="i"):
        return numpy.array(values, dtype=letter)

    def values(self, data):
        return data.tolist()


class Buffers(Arrays):
    """Data with the buffer protocol."""

    def made(self, values, letter="i"):
        return array.array(letter, values)


class Tensors(Arrays):
    """Data with DLPack only."""

    def made(self, values, letter="i"):
        return torch.tensor(values, dtype={"i": torch.int32, "d": torch.float64}[letter])


def blocking(name, *words, **more):
    getattr(RANKS, name)(*words, **more)


def started(name, *words, **more):
    request = getattr(RANKS.start, name)(*words, **more)
    request.wait()
    request.wait()  # returns at once


def tested(name, *words, **more):
    request = getattr(RANKS.start, name)(*words, **more)
    while not request.test():
        pass
    assert request.test()


def prepared(name, *words, **more):
    getattr(RANKS.prepare, name)(*words, **more)()


def prepared_and_started(name, *words, **more):
    getattr(RANKS.prepare, name)(*words, **more).start().wait()


FORMS = (blocking, started, tested, prepared, prepared_and_started)


def equal(kind, data, values):
    assert kind.values(data) == list(values), (kind.values(data), list(values))


def every_collective(kind, form):
    me, size = RANKS.rank, RANKS.size
    last, everyone, none = size - 1, range(size), [0] * N
    sums = [sum(at(r, i) for r in everyone) for i in range(size * N)]
    blocks = [at(r, i) for r in everyone for i in range(N)]
    mine = slice(me * N, (me + 1) * N)

    data, output = kind.made(of_rank(me)), kind.made(none)
    form("all_reduce", data, output)
    equal(kind, output, sums[:N])
    equal(kind, data, of_rank(me))
    form("all_reduce", data, op=Op.MAX)
    equal(kind, data, of_rank(last))

    data, output = kind.made(of_rank(me, size)), kind.made(none)
    form("reduce_scatter", data, output, op=Op.SUM)
    equal(kind, output, sums[mine])
    form("reduce_scatter", data)
    equal(kind, data[mine], sums[mine])

    data, output = kind.made(of_rank(me)), kind.made(none * size)
    form("all_gather", data, output)
    equal(kind, output, blocks)
    data = kind.made(none * me + of_rank(me) + none * (last - me))
    form("all_gather", data)
    equal(kind, data, blocks)

    data, output = kind.made(of_rank(me, size)), kind.made(none * size)
    swapped = [at(r, i) for r in everyone for i in range(me * N, (me + 1) * N)]
    form("all_to_all", data, output)
    equal(kind, output, swapped)
    form("all_to_all", data)
    equal(kind, data, swapped)

    for name, ranks in (("scan", me + 1), ("exscan", me)):
        data, output = kind.made(of_rank(me)), kind.made(none) if ranks else None
        form(name, data, output)
        equal(kind, data, of_rank(me))
        if ranks:
            equal(kind, output, [sum(at(r, i) for r in range(ranks)) for i in range(N)])
        form(name, data, op=Op.MAX)
        equal(kind, data, of_rank(max(ranks - 1, 0)))

    data = kind.made(of_rank(me))
    form("broadcast", data, root=last)
    equal(kind, data, of_rank(last))

    for root in (0, last):
        data, output = kind.made(of_rank(me)), kind.made(none) if me == root else None
        form("reduce", data, output, root=root)
        equal(kind, data, of_rank(me))
        if me == root:
            equal(kind, output, sums[:N])
        form("reduce", data, root=root, op=Op.MIN)
        if me == root:
            equal(kind, data, of_rank(0))

        data, output = kind.made(of_rank(me)), kind.made(none * size) if me == root else None
        form("gather", data, output, root=root)
        if me == root:
            equal(kind, output, blocks)
            data = kind.made(none * me + of_rank(me) + none * (last - me))
        form("gather", data, root=root)
        if me == root:
            equal(kind, data, blocks)

        data, output = kind.made(of_rank(root, size)) if me == root else None, kind.made(none)
        form("scatter", data, output, root=root)
        equal(kind, output, of_rank(root, size)[mine])
        data = kind.made(of_rank(root, size) if me == root else none)
        form("scatter", data, root=root)
        equal(kind, data[mine] if me == root else data, of_rank(root, size)[mine])
    RANKS.barrier()
    RANKS.start.barrier().wait()


def blocks_of_any_length(kind, form):
    """Calls with blocks of different lengths: equal, random, one giant, most of them empty, all empty."""
    me, size = RANKS.rank, RANKS.size
    dice, everyone = random.Random(7), range(size)
    for many in ([N] * size, [dice.randrange(300) for _ in everyone], [5000 * (r == size // 2) for r in everyone],
                 [dice.choice((0, 0, 3)) for _ in everyone], [0] * size):
        before = [sum(many[:r]) for r in everyone]
        mine = slice(before[me], before[me] + many[me])
        blocks = [at(r, i) for r in everyone for i in range(many[r])]
        own, room = [at(me, i) for i in range(many[me])], [0] * sum(many)
        in_its_place = room[:before[me]] + own + room[mine.stop:]

        output = kind.made(room)
        form("all_gather_v", kind.made(own), output, many)
        equal(kind, output, blocks)
        data = kind.made(in_its_place)
        form("all_gather_v", data, tutti.IN_PLACE, counts=many)
        equal(kind, data, blocks)

        data, output = kind.made([at(me, i) for i in range(len(room))]), kind.made(own)
        sums = [sum(at(r, i) for r in everyone) for i in range(mine.start, mine.stop)]
        form("reduce_scatter_v", data, output, many, op=Op.SUM)
        equal(kind, output, sums)
        form("reduce_scatter_v", data, tutti.IN_PLACE, many)
        equal(kind, data[mine], sums)

        for root in (0, size - 1):
            is_root = me == root
            output, counts = (kind.made(room), many) if is_root else (None, None)
            form("gather_v", kind.made(own), output, counts, root=root)
            data = kind.made(in_its_place if is_root else own)
            form("gather_v", data, tutti.IN_PLACE, counts, root)
            for all_blocks in (output, data) if is_root else ():
                equal(kind, all_blocks, blocks)

            output = kind.made([0] * many[me])
            form("scatter_v", kind.made(blocks) if is_root else None, output, counts, root=root)
            equal(kind, output, own)
            data = kind.made(blocks if is_root else [0] * many[me])
            form("scatter_v", data, tutti.IN_PLACE, counts, root)
            equal(kind, data[mine] if is_root else data, own)

        sent, received = [many[(me + r) % size] + r for r in everyone], [many[(me + r) % size] + me for r in everyone]
        data = kind.made([at(me, 10 * r + i) for r in everyone for i in range(sent[r])])
        output = kind.made([0] * sum(received))
        form("all_to_all_v", data, output, sent, received)
        equal(kind, output, [at(r, 10 * me + i) for r in everyone for i in range(received[r])])
        data = kind.made([at(me, 10 * r + i) for r in everyone for i in range(many[(me + r) % size])])
        form("all_to_all_v", data, tutti.IN_PLACE, (many[(me + r) % size] for r in everyone))
        equal(kind, data, [at(r, 10 * me + i) for r in everyone for i in range(many[(me + r) % size])])


def refusals_of_counts():
    """No rank sends anything, or all ranks get the error, so the communicator stays usable."""
    size, last = RANKS.size, RANKS.size - 1
    two, twos = array.array("d", [1] * 2), array.array("d", [1] * (2 * size))
    for ranks in (RANKS, RANKS.start, RANKS.prepare):
        raises(ValueError, f"{size} numbers", ranks.all_gather_v, two, twos, [2] * (size + 1))
        raises(ValueError, "numbers from 0", ranks.all_gather_v, two, twos, [2] * last + [-1])
        raises(TypeError, "integer", ranks.all_gather_v, two, twos, [2.0] * size)
        raises(ValueError, f"need {3 * size} float64", ranks.all_gather_v, two, twos, [3] * size)
        raises(ValueError, f"need {3 * size}", ranks.reduce_scatter_v, twos, array.array("d", [1] * 3), [3] * size)
        raises(ValueError, "None", ranks.gather_v, two, None, None, RANKS.rank)
        raises(ValueError, "float32", ranks.all_to_all_v, twos, array.array("f", [1] * (2 * size)), [2] * size)
    for ranks in (RANKS, RANKS.start):
        assert raises(tutti.TuttiError, "root", ranks.gather_v, two, None, None, root=size).code == 64
        is_root = RANKS.rank == 0
        if size > 1:
            assert raises(tutti.TuttiError, "rank 0 expects other counts", ranks.gather_v, two, array.array("d", [1] * (2 * size + 1))
                          if is_root else None, [2] * last + [3] if is_root else None).code == 64
            sent = [2] * last + [3 if is_root else 2]
            assert raises(tutti.TuttiError, f"rank {last} expects other counts", ranks.all_to_all_v, array.array("d", [1] * sum(sent)), twos,
                          sent, [2] * size).code == 64


def types_of_numbers(kind, letters):
    for letter, op in itertools.product(letters, OPERATORS):
        data = kind.made([2, 3 + RANKS.rank], letter)
        RANKS.all_reduce(data, op=op)
        equal(kind, data, [OPERATORS[op]([2] * RANKS.size), OPERATORS[op]([3 + r for r in range(RANKS.size)])])
    average = kind.made([RANKS.rank * 2], "d")
    RANKS.all_reduce(average, op=Op.AVG)
    equal(kind, average, [RANKS.size - 1])


def raises(error, key, call, *words, **more):
    try:
        call(*words, **more)
    except error as problem:
        assert key in str(problem), str(problem)
        return problem
    raise AssertionError(f"{words} {more} is accepted")


def refusals_of_buffers():
    """No rank sends anything, so the communicator stays usable."""
    four, three = array.array("d", [1] * 4), array.array("d", [1] * 3)
    for ranks in (RANKS, RANKS.start, RANKS.prepare):
        raises(TypeError, "list", ranks.all_reduce, [1, 2])
        raises(TypeError, "NoneType", ranks.broadcast, None)
        raises(ValueError, "read-only", ranks.all_reduce, b"text")
        raises(ValueError, "read-only", ranks.all_reduce, four, memoryview(four).toreadonly())
        raises(ValueError, "contiguous", ranks.all_reduce, memoryview(four)[::2])
        raises(ValueError, "3 float64", ranks.all_reduce, four, three)
        raises(ValueError, "float32", ranks.all_reduce, four, array.array("f", [1] * 4))
        raises(TypeError, "1-byte", ranks.all_reduce, memoryview(bytearray(4)).cast("c"))
        raises(ValueError, "'most'", ranks.all_reduce, four, op="most")
        raises(ValueError, "9", ranks.reduce, four, op=9)
        raises(TypeError, "integer", ranks.broadcast, four, root=1.5)
        raises(ValueError, "root 4294967296", ranks.broadcast, four, root=2**32)
        raises(TypeError, "byte order", ranks.broadcast, (ctypes.c_int32.__ctype_be__ * 3)())
        raises(TypeError, "'<O'", ranks.broadcast, (ctypes.py_object * 3)(1, 2, 3))
        if RANKS.size > 1:
            raises(ValueError, f"{4 * RANKS.size} float64", ranks.all_gather, four, four)
            raises(ValueError, "equal blocks", ranks.all_gather, array.array("d", [1] * (RANKS.size + 1)))
            raises(ValueError, "equal blocks", ranks.reduce_scatter, array.array("d", [1] * (RANKS.size + 1)), four)
    for ranks in (RANKS, RANKS.start):
        assert raises(tutti.TuttiError, "root", ranks.broadcast, four, root=RANKS.size).code == 64
        assert raises(tutti.TuttiError, "overlap", ranks.all_reduce, four, four).code == 64
    raises(AttributeError, "nothing", lambda: tutti.nothing)


def refusals_of_arrays():
    for ranks in (RANKS, RANKS.start, RANKS.prepare):
        raises(ValueError, "ascontiguousarray", ranks.all_reduce, numpy.ones((4, 4))[:, 1])
        raises(ValueError, "ascontiguousarray", ranks.all_reduce, numpy.ones((4, 3), order="F"))
        constant = numpy.ones(4)
        constant.flags.writeable = False
        raises(ValueError, "read-only", ranks.all_reduce, constant)
        raises(TypeError, "view(numpy.float64)", ranks.all_reduce, numpy.ones(4, dtype=complex))
        raises(TypeError, "view(numpy.uint8)", ranks.all_reduce, numpy.ones(4, dtype=bool))
        raises(TypeError, "dtype object", ranks.broadcast, numpy.array([None]))
        raises(TypeError, "byte order", ranks.all_reduce, numpy.ones(4, dtype=">f8"))
        raises(ValueError, "int64", ranks.all_reduce, numpy.ones(4), numpy.ones(4, dtype=int))


def unusual_arrays():
    """Arrays that are read-only, empty, of several dimensions, or of other elements than numbers."""
    me, size = RANKS.rank, RANKS.size
    constant, output = numpy.full((2, 3), me + 1.0), numpy.zeros((3, 2))
    constant.flags.writeable = False
    RANKS.all_reduce(constant, output)
    assert (output == size * (size + 1) / 2).all()
    RANKS.broadcast(constant if me == 0 else output)
    assert (output == (1 if me != 0 else size * (size + 1) / 2)).all()
    RANKS.all_reduce(numpy.zeros(0))
    RANKS.all_gather(numpy.zeros((0, 3)), numpy.zeros(0))
    RANKS.broadcast(bytearray())
    scalar = numpy.array(me + 1)
    RANKS.all_reduce(scalar)
    assert scalar == size * (size + 1) / 2
    for dtype in ("complex128", "bool", "datetime64[s]", "S3", [("a", "i4"), ("b", "f8")]):
        every, blocks = numpy.zeros((size, 2), dtype=dtype), numpy.ones((size, 2), dtype=dtype)
        for rank in range(size):
            every[rank, rank % 2] = numpy.ones(1, dtype=dtype)[0]
        RANKS.all_gather(every[me], blocks)
        assert (blocks == every).all()
        many = [rank % 3 for rank in range(size)]
        gathered = numpy.ones(sum(many), dtype=dtype)
        RANKS.all_gather_v(every[me, :many[me]], gathered, many)
        assert (gathered == numpy.concatenate([every[rank, :many[rank]] for rank in range(size)])).all()
    root = numpy.int64(size - 1)
    RANKS.broadcast(scalar, root=root)


def repeated_arrays():
    """A communicator remembers calls with small arrays, but not what a program changes in them."""
    data, output, other = numpy.full(4, 2.0), numpy.zeros(4), numpy.zeros(4)

    def repeat():
        for turn in range(30):
            data[:] = turn
            RANKS.all_reduce(data, output)
            assert (output == RANKS.size * turn).all()

    repeat()
    RANKS.all_reduce(data, output, op=Op.MAX)
    assert (output == 29).all()
    repeat()
    RANKS.all_reduce(data, other)
    assert (other == 29 * RANKS.size).all()
    repeat()
    output.flags.writeable = False
    raises(ValueError, "read-only", RANKS.all_reduce, data, output)
    numbers = numpy.array([1, 2, 3, 4])
    for turn in range(30):
        numbers[:] = RANKS.rank
        RANKS.broadcast(numbers, root=turn // 15 % RANKS.size)
        assert (numbers == turn // 15 % RANKS.size).all()
        RANKS.all_reduce(numbers)
    numbers.dtype = "f8"
    numbers[:] = 0.5
    RANKS.all_reduce(numbers)
    assert (numbers == 0.5 * RANKS.size).all()
    for turn in range(30):
        brief = numpy.full(3, turn)
        RANKS.all_reduce(brief)
        assert (brief == turn * RANKS.size).all()


def messages():
    if RANKS.size == 1 or sys.argv[2].startswith("mpi"):
        assert raises(tutti.TuttiError, "", RANKS.send, b"x", 0).code == 64
    elif RANKS.rank == 0:
        RANKS.send(b"question", 1, tag=3)
        answer = bytearray(6)
        RANKS.receive(answer, 1)
        assert answer == b"answer", answer
    elif RANKS.rank == 1:
        question = array.array("q", [0])
        RANKS.receive(question, 0, tag=3)
        assert question.tobytes() == b"question"
        RANKS.send(bytearray(b"answer"), 0)


def registered_memory():
    memory = RANKS.allocate(8 * N)
    numbers = memory.cast("d")
    assert numbers.tolist() == [0] * N
    for i in range(N):
        numbers[i] = RANKS.rank + i
    RANKS.all_reduce(numbers)
    assert numbers.tolist() == [sum(r + i for r in range(RANKS.size)) for i in range(N)]
    numbers.release()
    RANKS.release(memory)
    assert len(RANKS.allocate(0)) == 0
    raises(ValueError, "negative", RANKS.allocate, -1)
    raises(tutti.TuttiError, "", RANKS.release, bytearray(3))


def requests_that_are_dropped():
    """A request that is dropped waits, and its buffers stay alive until then."""
    values = array.array("d", [RANKS.rank])
    RANKS.start.all_reduce(values)
    assert values[0] == sum(range(RANKS.size)), values
    request = RANKS.start.all_reduce(values)
    raises(BufferError, "", values.append, 1)
    request.wait()
    values.append(1)


def end():
    """Pending requests end before the communicator."""
    values = array.array("d", [1])
    request = RANKS.start.all_reduce(values)
    again = RANKS.prepare.all_reduce(values)
    RANKS.free()
    assert values[0] == RANKS.size and request._request.value is None
    request.wait()
    assert request.test()
    for call in (RANKS.barrier, again, again.start, lambda: RANKS.all_reduce(values), lambda: RANKS.start.all_reduce(values),
                 lambda: RANKS.allocate(8), lambda: RANKS.send(values, 0)):
        assert raises(tutti.TuttiError, "freed", call).code == 64
    RANKS.free()


def everything(kind, letters):
    for form in FORMS:
        every_collective(kind, form)
        blocks_of_any_length(kind, form)
    types_of_numbers(kind, letters)
    refusals_of_buffers()
    refusals_of_counts()
    messages()
    registered_memory()
    requests_that_are_dropped()
    if PART == "arrays":
        refusals_of_arrays()
        unusual_arrays()
        repeated_arrays()
    with tutti.Communicator.self() as alone:
        alone.all_reduce(kind.made([1]))
        assert (alone.rank, alone.size) == (0, 1)
    end()


def tensors():
    for form in (blocking, prepared):
        every_collective(Tensors(), form)
        blocks_of_any_length(Tensors(), form)
    halves = torch.full((3,), RANKS.rank + 1.0, dtype=torch.bfloat16)
    RANKS.all_reduce(halves)
    assert halves.tolist() == [RANKS.size * (RANKS.size + 1) / 2] * 3
    RANKS.broadcast(torch.ones(3, dtype=torch.complex64))
    raises(ValueError, "contiguous", RANKS.all_reduce, torch.ones(4, 4)[:, 1])
    raises(TypeError, "view", RANKS.all_reduce, torch.ones(4, dtype=torch.complex64))
    RANKS.all_reduce(torch.ones(1, 4)[:, 1:])  # a dimension of one element may have any stride


def different():
    """All ranks get the error of ranks that make different calls."""
    data = array.array("d", [1] * (3 + RANKS.rank))
    assert raises(tutti.TuttiError, "different calls", RANKS.all_reduce, data).code == 64
    assert raises(tutti.TuttiError, "", RANKS.barrier).code == 5


def lost():
    """The last rank ends without a word. Its buffers stay alive in the other ranks."""
    from tutti import communicator

    data = array.array("d", [1])
    RANKS.all_reduce(data)
    if RANKS.rank == RANKS.size - 1:
        print("right", flush=True)
        os._exit(0)
    for _ in range(3):  # it has perhaps not ended yet
        try:
            RANKS.all_reduce(data)
        except tutti.TuttiError as problem:
            assert problem.code == 5, problem
            break
    assert communicator.ABANDONED


def lost_while_tested():
    """A rank that ends is also noticed by a program that only tests."""
    data = array.array("d", [1])
    for _ in range(MANY):
        RANKS.start.all_reduce(data).wait()
    if RANKS.rank == RANKS.size - 1:
        print("right", flush=True)
        os._exit(0)
    request = RANKS.start.all_reduce(data)

    def test():
        while not request.test():
            pass

    assert raises(tutti.TuttiError, "", test).code == 5
    assert request.test()


def dropped_at_the_end():
    """A rank that ends by an exception does not wait for its pending requests."""
    global REQUEST
    data = array.array("d", [1])
    for _ in range(MANY):
        RANKS.start.all_reduce(data).wait()
    if RANKS.rank == 0:
        REQUEST = RANKS.start.all_reduce(data)
        print("right", flush=True)
        raise KeyError("as planned")
    began = time.monotonic()
    assert raises(tutti.TuttiError, "rank 0", RANKS.barrier).code == 5
    assert time.monotonic() - began < DEADLINE / 2


def unfinished():
    """A rank that ends by an exception does not wait for the others."""
    with RANKS:
        RANKS.barrier()
        if RANKS.rank == 0:
            print("right", flush=True)
            raise KeyError("as planned")
        assert raises(tutti.TuttiError, "rank 0", RANKS.barrier).code == 5


def join():
    if sys.argv[2] == "mpi":
        return tutti.Communicator.over_mpi()
    if sys.argv[2] == "mpi4py":
        from mpi4py import MPI

        return tutti.Communicator.over_mpi(MPI.COMM_WORLD)
    if sys.argv[2] == "environment":
        return tutti.Communicator.from_environment(job="python", background=True)
    return tutti.Communicator.over_rendezvous(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), deadline=DEADLINE)


if PART == "arrays":
    import numpy
if PART == "tensors":
    import torch
PARTS = {"arrays": lambda: everything(Arrays(), "bhilBHILefdqQ"), "buffers": lambda: everything(Buffers(), "bhilBHILfdqQ"),
         "tensors": tensors, "different": different, "lost": lost, "lost_while_tested": lost_while_tested, "unfinished": unfinished,
         "dropped_at_the_end": dropped_at_the_end}
RANKS = join()
PARTS[PART]()
print("right", flush=True)
