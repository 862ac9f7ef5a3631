# SPDX-License-Identifier: Apache-2.0
"""One rank that makes every collective and compares the results with closed forms."""
import datetime

import torch
import torch.distributed as dist
import tutti_torch

TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int32, torch.int64)
SIZES = ((1,), (7,), (3, 5), (1000,), (100_003,))
OPERATIONS = (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX)

torch.set_num_threads(1)
dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
RANK, RANKS = dist.get_rank(), dist.get_world_size()
compared = 0


def mine(shape, dtype, of_rank=None):
    """Returns the data of a rank: small integers, so that sums and products of few ranks are exact in every type."""
    rank = RANK if of_rank is None else of_rank
    numbers = torch.arange(torch.Size(shape).numel()) % 3 + rank % 2
    return numbers.reshape(shape).to(dtype)


def expect_equal(got, expected, what):
    global compared  # pylint: disable=global-statement
    compared += 1
    assert got.dtype == expected.dtype and torch.equal(got, expected), f"{what}: rank {RANK} got {got}, expected {expected}"


def of_all(shape, dtype):
    return [mine(shape, dtype, rank) for rank in range(RANKS)]


def folded(operation, tensors):
    """Reduces the tensors with torch."""
    stacked = torch.stack([each.double() for each in tensors])
    if operation == dist.ReduceOp.SUM:
        return stacked.sum(0)
    if operation == dist.ReduceOp.PRODUCT:
        return stacked.prod(0)
    return stacked.amin(0) if operation == dist.ReduceOp.MIN else stacked.amax(0)


def reductions(shape, dtype):
    for operation in OPERATIONS:
        what = f"{operation} of {dtype} {shape}"
        expected = folded(operation, of_all(shape, dtype)).to(dtype)
        got = mine(shape, dtype)
        dist.all_reduce(got, operation)
        expect_equal(got, expected, f"all_reduce {what}")
        for root in {0, RANKS - 1}:
            got = mine(shape, dtype)
            dist.reduce(got, root, operation)
            expect_equal(got, expected if root == RANK else mine(shape, dtype), f"reduce {what}")
        blocks = [mine(shape, dtype) + block for block in range(RANKS)]
        block = torch.empty(shape, dtype=dtype)
        dist.reduce_scatter(block, blocks, operation)
        of_ranks = folded(operation, [each + RANK for each in of_all(shape, dtype)]).to(dtype)
        expect_equal(block, of_ranks, f"reduce_scatter {what}")
        block = torch.empty(shape, dtype=dtype)
        dist._reduce_scatter_base(block, torch.stack(blocks), operation)
        expect_equal(block, of_ranks, f"_reduce_scatter_base {what}")
    if dtype.is_floating_point:
        got = mine(shape, dtype)
        dist.all_reduce(got, dist.ReduceOp.AVG)
        average = folded(dist.ReduceOp.SUM, of_all(shape, dtype)) / RANKS
        assert torch.allclose(got.double(), average, rtol=1e-2), f"average of {dtype}: {got}"


def complex_sums(dtype):
    """Complex numbers are summed as pairs of real numbers; torch itself makes pairs of them in all_reduce only."""
    def parts(rank):
        return torch.complex(mine((5,), torch.float64, rank), mine((5,), torch.float64, rank) - 2).to(dtype)

    total = sum(parts(rank) for rank in range(RANKS))
    for operation, expected in ((dist.ReduceOp.SUM, total), (dist.ReduceOp.AVG, total / RANKS)):
        got = parts(RANK)
        dist.all_reduce(got, operation)
        assert torch.allclose(got, expected), f"all_reduce of {dtype}: {got}, not {expected}"
        got = parts(RANK)
        dist.reduce(got, 0, operation)
        assert RANK != 0 or torch.allclose(got, expected), f"reduce of {dtype}: {got}, not {expected}"
        got = torch.empty(5, dtype=dtype)
        dist.reduce_scatter(got, [parts(RANK) + block for block in range(RANKS)], operation)
        block = expected + RANK * (RANKS if operation == dist.ReduceOp.SUM else 1)
        assert torch.allclose(got, block), f"reduce_scatter of {dtype}: {got}, not {block}"


def moves(shape, dtype):
    what = f"of {dtype} {shape}"
    for root in {0, RANKS - 1}:
        got = mine(shape, dtype)
        dist.broadcast(got, root)
        expect_equal(got, mine(shape, dtype, root), f"broadcast {what}")
        lists = [torch.empty(shape, dtype=dtype) for _ in range(RANKS)] if root == RANK else None
        dist.gather(mine(shape, dtype), lists, root)
        for rank, each in enumerate(lists or []):
            expect_equal(each, mine(shape, dtype, rank), f"gather {what}")
        got = torch.empty(shape, dtype=dtype)
        dist.scatter(got, [mine(shape, dtype) + rank for rank in range(RANKS)] if root == RANK else None, root)
        expect_equal(got, mine(shape, dtype, root) + RANK, f"scatter {what}")
    gathered = [torch.empty(shape, dtype=dtype) for _ in range(RANKS)]
    dist.all_gather(gathered, mine(shape, dtype))
    for one, other in zip(gathered, of_all(shape, dtype)):
        expect_equal(one, other, f"all_gather {what}")
    flat = torch.empty(RANKS, *shape, dtype=dtype)
    dist._all_gather_base(flat, mine(shape, dtype))
    expect_equal(flat, torch.stack(gathered), f"_all_gather_base {what}")


def all_to_alls(dtype):
    blocks = torch.stack([mine((5,), dtype) + to for to in range(RANKS)])
    got = torch.empty_like(blocks)
    dist.all_to_all_single(got, blocks)
    expected = torch.stack([mine((5,), dtype, source) + RANK for source in range(RANKS)])
    expect_equal(got, expected, f"all_to_all_single of {dtype}")
    # Some ranks pass sizes, although all blocks are equal.
    got, equal = torch.empty_like(blocks), [1] * RANKS
    dist.all_to_all_single(got, blocks, equal if RANK % 2 == 1 else None, equal if RANK == 2 else None)
    expect_equal(got, expected, f"all_to_all_single of {dtype}, where some ranks name equal sizes")
    # Rank 0 exchanges 2 rows with each rank and passes no sizes. The other ranks exchange 3 rows with each other.
    sizes = [2 if 0 in (RANK, other) else 3 for other in range(RANKS)]
    rows = torch.cat([torch.full((size, 2), RANK * 10 + to, dtype=dtype) for to, size in enumerate(sizes)])
    got = torch.empty_like(rows)
    named = sizes if RANK > 0 else None
    dist.all_to_all_single(got, rows, named, named)
    expected = torch.cat([torch.full((size, 2), source * 10 + RANK, dtype=dtype) for source, size in enumerate(sizes)])
    expect_equal(got, expected, f"all_to_all_single of {dtype}, where rank 0 alone has equal blocks")
    # Rank r sends r + to rows to rank `to`, so rank 0 sends none to itself.
    sizes_out, sizes_in = [RANK + to for to in range(RANKS)], [RANK + source for source in range(RANKS)]
    rows = torch.cat([torch.full((RANK + to, 2), RANK * 10 + to, dtype=dtype) for to in range(RANKS)])
    got = torch.empty(sum(sizes_in), 2, dtype=dtype)
    dist.all_to_all_single(got, rows, sizes_in, sizes_out)
    expected = torch.cat([torch.full((RANK + source, 2), source * 10 + RANK, dtype=dtype) for source in range(RANKS)])
    expect_equal(got, expected, f"all_to_all_single of {dtype} with sizes")
    lists = [torch.empty(RANK + source, 2, dtype=dtype) for source in range(RANKS)]
    dist.all_to_all(lists, list(rows.split(sizes_out)))
    expect_equal(torch.cat(lists), expected, f"all_to_all of {dtype}")


def blocks_of_different_sizes(dtype):
    """Rank r has 3 r rows, so rank 0 has none; or the last rank alone has any."""
    for rows in ([3 * rank for rank in range(RANKS)], [0] * (RANKS - 1) + [1000]):
        gathered = [torch.empty(each, 2, dtype=dtype) for each in rows]
        dist.all_gather(gathered, mine((rows[RANK], 2), dtype))
        for rank, got in enumerate(gathered):
            expect_equal(got, mine((rows[rank], 2), dtype, rank), f"all_gather of {dtype} of different sizes")
        for operation in (dist.ReduceOp.SUM, dist.ReduceOp.MAX):
            got = torch.empty(2, rows[RANK], dtype=dtype).t()
            dist.reduce_scatter(got, [mine((each, 2), dtype) for each in rows], operation)
            expected = folded(operation, of_all((rows[RANK], 2), dtype)).to(dtype)
            expect_equal(got, expected, f"reduce_scatter of {dtype} of different sizes")


def overlapping(dtype):
    """Input and output share memory on all ranks except the last."""
    def part_or_copy(part):
        return part.clone() if RANK == RANKS - 1 else part

    count = 1000
    whole = torch.zeros(RANKS * count, dtype=dtype)
    shard = part_or_copy(whole.narrow(0, RANK * count, count))
    shard.copy_(mine((count,), dtype))
    dist._all_gather_base(whole, shard)
    expect_equal(whole, torch.cat(of_all((count,), dtype)), f"_all_gather_base of {dtype} from a part of its output")
    whole = mine((RANKS * count,), dtype)
    shard = part_or_copy(whole.narrow(0, RANK * count, count))
    dist._reduce_scatter_base(shard, whole)
    expected = folded(dist.ReduceOp.SUM, of_all((RANKS * count,), dtype)).to(dtype).narrow(0, RANK * count, count)
    expect_equal(shard, expected, f"_reduce_scatter_base of {dtype} into a part of its input")
    blocks = torch.stack([mine((5,), dtype) + to for to in range(RANKS)])
    result = part_or_copy(blocks)
    dist.all_to_all_single(result, blocks)
    expect_equal(result, torch.stack([mine((5,), dtype, source) + RANK for source in range(RANKS)]),
                 f"all_to_all_single of {dtype} into its input")


def messages():
    ahead, behind = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    if ahead == RANK:
        return
    # All ranks start with a large send, before any rank receives.
    big, got = torch.full((2_000_000,), float(RANK)), torch.empty(2_000_000)
    works = [dist.isend(big, ahead, tag=1), dist.irecv(got, behind, tag=1)]
    small, got_small = torch.tensor([RANK]), torch.empty(1, dtype=torch.int64)
    works += [dist.isend(small, ahead, tag=2), dist.irecv(got_small, behind, tag=2)]
    for work in works:
        work.wait()
    expect_equal(got, torch.full((2_000_000,), float(behind)), "isend, irecv")
    expect_equal(got_small, torch.tensor([behind]), "isend, irecv of another tag")
    if RANK == 0:
        dist.send(small, 1)
    elif RANK == 1:
        dist.recv(got_small, 0)
        expect_equal(got_small, torch.tensor([0]), "send, recv")


def asynchronous():
    works, tensors = [], []
    for number in range(20):
        tensors.append(mine((1000 + number,), torch.float32))
        works.append(dist.all_reduce(tensors[-1], async_op=True))
    futures = [work.get_future() for work in works]
    for work in reversed(works):
        work.wait()
    for future, tensor in zip(futures, tensors):
        future.wait()  # it completes shortly after the work
        expect_equal(tensor, folded(dist.ReduceOp.SUM, of_all(tensor.shape, torch.float32)).float(), "async_op")
        expect_equal(future.value()[0], tensor, "the future's value")


def other_layouts():
    got = mine((6, 4), torch.float32).t()
    dist.all_reduce(got)
    expect_equal(got, folded(dist.ReduceOp.SUM, of_all((6, 4), torch.float32)).float().t(), "all_reduce of a transposed tensor")
    got = mine((6, 4), torch.int32)[:, 1]
    dist.broadcast(got, RANKS - 1)
    expect_equal(got, mine((6, 4), torch.int32, RANKS - 1)[:, 1], "broadcast of a column")
    got = torch.tensor([7.0]).expand(5) if RANK == 0 else torch.zeros(5)
    dist.broadcast(got, 0)
    expect_equal(got, torch.full((5,), 7.0), "broadcast of an expanded tensor")
    flags = torch.tensor([RANK == 0, True, False])
    dist.all_reduce(flags)
    expect_equal(flags.view(torch.uint8), torch.tensor([1, 1, 0], dtype=torch.uint8), "all_reduce of bools, as bytes")
    empty = torch.empty(0)
    dist.all_reduce(empty)
    objects = [None] * RANKS
    dist.all_gather_object(objects, {"rank": RANK, "words": "x" * RANK})
    assert objects == [{"rank": rank, "words": "x" * rank} for rank in range(RANKS)]


def groups():
    if RANKS < 3:
        return
    group = dist.new_group([0, 2], backend="tutti")
    if RANK not in (0, 2):
        return
    got = torch.tensor([RANK + 1])
    dist.all_reduce(got, group=group)
    expect_equal(got, torch.tensor([4]), "all_reduce in a group")
    dist.broadcast(got, 2, group=group)
    dist.destroy_process_group(group)


for each_type in TYPES:
    for each_shape in SIZES if each_type in (torch.float32, torch.int64) else SIZES[1:3]:
        reductions(each_shape, each_type)
        moves(each_shape, each_type)
    all_to_alls(each_type)
    blocks_of_different_sizes(each_type)
    overlapping(each_type)
for each_type in (torch.complex64, torch.complex128):
    complex_sums(each_type)
    moves((7,), each_type)
messages()
asynchronous()
other_layouts()
groups()
dist.barrier()
print(f"rank {RANK}: {compared} compared")
assert tutti_torch.TuttiProcessGroup.__name__ in str(type(dist.distributed_c10d._get_default_group()))
