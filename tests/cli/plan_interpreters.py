# SPDX-License-Identifier: Apache-2.0
"""Execute exported schedules with data, as the formats define them: MSCCL++ execution plans and MSCCL XML.

Each thread block runs on its own; only signals, semaphores, messages and dependences order two of them. Memory remembers who used it
last, by vector clocks: two uses without an order, one of them a write, are a race. An order that is not guaranteed is therefore found
whatever order the interpreter happens to choose."""
import itertools
import json
import xml.etree.ElementTree as ElementTree


NOTHING, A_PART, DONE = range(3)


class Broken(Exception):
    """The file is no program of its format, or a wrong one."""


def need(condition, what):
    if not condition:
        raise Broken(what)


def share(rank, place):
    """The value of a place of a rank's input. Sums of distinct shares differ from all other sums."""
    return (place + 1) << (24 * rank)


class Memory:
    """The chunks of a rank's input, output and scratch. In place, some chunks have two names."""

    def __init__(self, rank, sizes, names):
        self.rank, self.sizes, self.names = rank, sizes, names
        self.cells = {}
        for place in range(sizes["i"]):
            self.cells[self.name("i", place)] = [share(rank, place), (None, 0), {}]

    def name(self, buffer, index):
        need(buffer in self.sizes, f"no buffer {buffer}")
        need(0 <= index < self.sizes[buffer], f"rank {self.rank} has no chunk {index} of {buffer}")
        return self.names(self.rank, buffer, index)

    def read(self, block, buffer, index):
        cell = self.cells.get(self.name(buffer, index))
        need(cell, f"rank {block.rank} reads {buffer}[{index}] of rank {self.rank} before it is written")
        value, (writer, when), readers = cell
        need(writer is None or block.knows(writer, when), f"{block.key} reads {buffer}[{index}] of rank {self.rank}, a race with {writer}")
        readers[block.key] = block.now()
        return value

    def write(self, block, buffer, index, value, in_place):
        need(in_place or buffer != "i", f"rank {self.rank} overwrites its input")
        name = self.name(buffer, index)
        if name in self.cells:
            _, (writer, when), readers = self.cells[name]
            for other, time in [(writer, when), *readers.items()]:
                need(other is None or block.knows(other, time),
                     f"{block.key} writes {buffer}[{index}] of rank {self.rank}, a race with {other}")
        self.cells[name] = [value, (block.key, block.now()), {}]


class Block:
    """A thread block with its vector clock."""

    def __init__(self, rank, number, operations):
        self.rank, self.key, self.operations, self.position = rank, (rank, number), operations, 0
        self.clock = {self.key: 1}

    def now(self):
        return self.clock[self.key]

    def knows(self, other, when):
        return self.clock.get(other, 0) >= when

    def leave(self):
        """A copy of the clock for somebody who waits for what was done so far."""
        copy = dict(self.clock)
        self.clock[self.key] += 1
        return copy

    def learn(self, clock):
        for key, time in clock.items():
            self.clock[key] = max(self.clock.get(key, 0), time)

    def is_done(self):
        return self.position == len(self.operations)


def run_all(blocks, execute):
    """Runs all blocks until they end. `execute` returns what happened: DONE, a part of the operation, or NOTHING."""
    while not all(block.is_done() for block in blocks):
        moved = False
        for block in blocks:
            while not block.is_done():
                happened = execute(block, block.operations[block.position])
                moved = moved or happened != NOTHING
                if happened != DONE:
                    break
                block.position += 1
        need(moved, "deadlock: " + ", ".join(f"{b.key} at {b.position}" for b in blocks if not b.is_done()))


# The result of each collective: for each chunk of a rank's output, the places whose shares are in it.
def promised(collective, ranks, rank, root, chunks):
    """Returns {output index: value}. `chunks` is the number of chunks of a block."""
    def total(place):
        return sum(share(other, place) for other in range(ranks))
    if collective in ("allreduce", "reduce"):
        return {} if collective == "reduce" and rank != root else {c: total(c) for c in range(chunks)}
    if collective == "broadcast":
        return {c: share(root, c) for c in range(chunks)}
    if collective == "allgather":
        return {r * chunks + c: share(r, c) for r in range(ranks) for c in range(chunks)}
    if collective in ("reduce_scatter", "reducescatter"):
        return {c: total(rank * chunks + c) for c in range(chunks)}
    if collective == "alltoall":
        return {r * chunks + c: share(r, rank * chunks + c) for r in range(ranks) for c in range(chunks)}
    raise Broken(f"unknown collective {collective}")


def blocks_of(collective, ranks):
    """Returns the blocks in the input and output of a rank."""
    return {"allgather": (1, ranks), "reduce_scatter": (ranks, 1), "reducescatter": (ranks, 1),
            "alltoall": (ranks, ranks)}.get(collective, (1, 1))


def names_in_place(collective, chunks, in_place):
    """Where input and output are one, names of the output stand for both."""
    def name(rank, buffer, index):
        if not in_place or buffer == "s":
            return buffer, index
        if collective == "allgather" and buffer == "i":
            return "o", rank * chunks + index
        if collective in ("reduce_scatter", "reducescatter") and buffer == "o":
            return "i", rank * chunks + index
        return ("o" if collective not in ("reduce_scatter", "reducescatter") else buffer), index
    return name


def check_results(collective, memories, root, chunks, in_place):
    for rank, memory in enumerate(memories):
        for index, value in promised(collective, len(memories), rank, root, chunks).items():
            cell = memory.cells.get(memory.name("o", index))
            need(cell and cell[0] == value, f"rank {rank} has a wrong o[{index}]")
        if in_place:
            continue
        for place in range(memory.sizes["i"]):
            need(memory.cells[("i", place)][0] == share(rank, place), f"rank {rank} lost its input")


def buffers_of(collective, sizes, in_place):
    """Memories of all ranks from their numbers of chunks, and the chunks of a block."""
    blocks_in, blocks_out = blocks_of(collective, len(sizes))
    chunks = sizes[0]["i"] // blocks_in
    for size in sizes:
        need(size["i"] == chunks * blocks_in and size["o"] == chunks * blocks_out and chunks > 0, f"wrong buffers for {collective}")
        need(size["s"] >= 0, "a negative scratch")
    names = names_in_place(collective, chunks, in_place)
    return [Memory(rank, size, names) for rank, size in enumerate(sizes)], chunks


# MSCCL++ execution plans

PLAN_MOST = {"operations": 64, "channels": 16, "channels of an operation": 8, "semaphores": 16}


def field(record, name, kind):
    need(isinstance(record, dict) and isinstance(record.get(name), kind) and not (kind is int and isinstance(record[name], bool)),
         f"no {name}")
    return record[name]


class Plan:
    """Executes a plan on all ranks. Signals of a channel are counted; a barrier joins the threads of a block, so that what follows
    a wait without it, or a signal that follows data without it, has no order."""

    def __init__(self, text):
        plan = json.loads(text)
        self.in_place = field(plan, "inplace", bool)
        self.collective = field(plan, "collective", str)
        need(plan.get("protocol") == "Simple", "protocol")
        self.gpus = field(plan, "gpus", list)
        sizes = []
        for number, gpu in enumerate(self.gpus):
            need(field(gpu, "id", int) == number, "a GPU's id")
            sizes.append({letter: field(gpu, f"{name}_chunks", int) for letter, name in (("i", "input"), ("o", "output"), ("s", "scratch"))})
        self.memories, self.chunks = buffers_of(self.collective, sizes, self.in_place)
        self.signals = {}  # (from, to, number of the channel between them) -> clocks of the signals without a wait so far
        self.blocks = []
        self.semaphores = {}
        for rank, gpu in enumerate(self.gpus):
            self.add_gpu(rank, gpu)

    def add_gpu(self, rank, gpu):
        peers = list(itertools.chain.from_iterable(field(c, "connected_to", list) for c in field(gpu, "channels", list)))
        need(all(0 <= peer < len(self.gpus) and peer != rank for peer in peers), "a channel to nowhere")
        channels = [(peer, peers[:i].count(peer)) for i, peer in enumerate(peers)]
        remotes = [(field(b, "rank", int), field(b, "type", str)) for b in field(gpu, "remote_buffers", list)]
        need(all(0 <= peer < len(self.gpus) for peer, _ in remotes), "an unknown rank")
        semaphores = field(gpu, "semaphores", list)
        need(len(semaphores) <= PLAN_MOST["semaphores"], "too many semaphores")
        for number, semaphore in enumerate(semaphores):
            self.semaphores[rank, number] = [{}] * field(semaphore, "init_value", int)
        for number, described in enumerate(field(gpu, "threadblocks", list)):
            need(field(described, "id", int) == number, "a thread block's id")
            operations = field(described, "ops", list)
            need(len(operations) <= PLAN_MOST["operations"], "too many operations")
            block = Block(rank, number, operations)
            own = [i for c in field(described, "channels", list) for i in field(c, "channel_ids", list)]
            refs = [i for c in field(described, "remote_buffer_refs", list) for i in field(c, "remote_buffer_ids", list)]
            need(max(len(own), len(refs)) <= PLAN_MOST["channels"], "too many channels")
            need(all(0 <= i < len(channels) for i in own) and all(0 <= i < len(remotes) for i in refs), "an unknown channel or buffer")
            block.channels, block.remotes = [channels[i] for i in own], [remotes[i] for i in refs]
            block.learned = []  # clocks that one thread got, and the others get at the next barrier
            block.fresh = {}  # memory used since the last barrier, by any thread
            self.blocks.append(block)

    def place(self, block, reference, remote=None):
        """(memory, buffer, first, size) of a reference; `remote` says whether it has to be one."""
        index, size = field(reference, "index", int), field(reference, "size", int)
        need(size > 0 and index >= 0, "an empty reference")
        if "buffer_id" in reference:
            need(remote is not False, "a remote buffer in a local operation")
            number = field(reference, "buffer_id", int)
            need(0 <= number < len(block.remotes), "an unknown remote buffer")
            peer, buffer = block.remotes[number]
            return self.memories[peer], buffer, index, size
        need(remote is not True, "a local buffer where a remote one has to be")
        return self.memories[block.rank], field(reference, "type", str), index, size

    def use(self, block, memory, buffer, index, writes):
        """Threads of a block work on parts of a chunk that may differ from operation to operation."""
        key = (memory.rank, *memory.name(buffer, index))
        need(not block.learned, f"{block.key} uses memory after a wait without a barrier")
        operation, was_written = block.fresh.get(key, (block.position, False))
        need(operation == block.position or not (writes or was_written), f"{block.key} uses {buffer}[{index}] twice without a barrier")
        block.fresh[key] = (block.position, writes or was_written)

    def move(self, block, sources, target, adds):
        to, to_buffer, to_first, size = target
        need(all(source[3] == size for source in sources), "sizes that differ")
        for i in range(size):
            value = 0
            for memory, buffer, first, _ in sources:
                self.use(block, memory, buffer, first + i, False)
                value += memory.read(block, buffer, first + i)
            need(adds or len(sources) == 1, "several sources of a copy")
            self.use(block, to, to_buffer, to_first + i, True)
            to.write(block, to_buffer, to_first + i, value, self.in_place)

    def channels_of(self, block, operation):
        numbers = field(operation, "channel_ids", list)
        need(0 < len(numbers) <= PLAN_MOST["channels of an operation"], "channels of an operation")
        need(all(isinstance(n, int) and 0 <= n < len(block.channels) for n in numbers), "an unknown channel")
        need(operation.get("channel_type") == "memory", "a channel's type")
        return [block.channels[n] for n in numbers]

    def execute(self, block, operation):
        name = field(operation, "name", str)
        if name == "nop":
            for clock in block.learned:
                block.learn(clock)
            block.learned, block.fresh = [], {}
        elif name == "signal":
            need(not block.fresh and not block.learned, f"{block.key} signals without a barrier")
            for peer, number in self.channels_of(block, operation):
                self.signals.setdefault((block.rank, peer, number), []).append(block.leave())
        elif name == "wait":
            queues = [self.signals.setdefault((peer, block.rank, number), []) for peer, number in self.channels_of(block, operation)]
            if not all(queues):
                return NOTHING
            block.learned += [queue.pop(0) for queue in queues]
        elif name in ("sem_release", "sem_acquire"):
            numbers = field(operation, "semaphore_ids", list)
            need(all((block.rank, n) in self.semaphores for n in numbers), "an unknown semaphore")
            queues = [self.semaphores[block.rank, n] for n in numbers]
            if name == "sem_release":
                need(not block.fresh and not block.learned, f"{block.key} releases without a barrier")
                for queue in queues:
                    queue.append(block.leave())
            elif all(queues):
                block.learned += [queue.pop(0) for queue in queues]
            else:
                return NOTHING
        else:
            self.move_data(block, name, operation)
        return DONE

    def move_data(self, block, name, operation):
        sources, targets = field(operation, "src_buff", list), field(operation, "dst_buff", list)
        need(len(targets) == 1, "one target")
        if name == "put":
            need(len(sources) == 1, "one source")
            self.move(block, [self.place(block, sources[0], False)], self.place(block, targets[0], True), False)
        elif name == "copy":
            need(len(sources) == 1, "one source")
            self.move(block, [self.place(block, sources[0], False)], self.place(block, targets[0], False), False)
        elif name in ("re", "rre"):
            need(2 <= len(sources) <= 1 + PLAN_MOST["channels of an operation"], "sources")
            need(operation.get("reduce_op") == "sum", "an operation")
            others = [self.place(block, source, name == "rre") for source in sources[1:]]
            self.move(block, [self.place(block, sources[0], False), *others], self.place(block, targets[0], False), True)
        else:
            raise Broken(f"unknown operation {name}")

    def run(self):
        run_all(self.blocks, self.execute)
        need(not any(self.signals.values()), "a signal without a wait")
        check_results(self.collective, self.memories, 0, self.chunks, self.in_place)
        # A rank that ends may be called again, and its memory used: all uses of it by others must be over.
        last = {}
        for block in self.blocks:
            last.setdefault(block.rank, {})
            for clock in (block.clock, *block.learned):
                for key, time in clock.items():
                    last[block.rank][key] = max(last[block.rank].get(key, 0), time)
        for memory in self.memories:
            for _, (writer, when), readers in memory.cells.values():
                for other, time in [(writer, when), *readers.items()]:
                    need(other is None or last[memory.rank].get(other, 0) >= time,
                         f"{other} still uses the memory of rank {memory.rank}, which has ended")


def run_plan(text):
    try:
        Plan(text).run()
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, IndexError) as error:
        raise Broken(repr(error)) from error


# MSCCL XML

XML_MOST = {"step": 256, "cnt": 72, "blocks": 32, "offset": 32768}


class Xml:
    """Executes an algorithm on all GPUs. A message between two GPUs waits in a queue of one chunk, the least that NCCL's
    connections have; a step may wait for one step of another block."""

    def __init__(self, text):
        root = ElementTree.fromstring(text)
        need(root.tag == "algo", "no algorithm")
        self.collective, self.in_place = root.attrib["coll"], root.attrib["inplace"] == "1"
        need(root.attrib["proto"] == "Simple" and root.attrib["nchannels"] == "1", "protocol or channels")
        gpus = root.findall("gpu")
        need([int(gpu.attrib["id"]) for gpu in gpus] == list(range(int(root.attrib["ngpus"]))), "GPUs")
        sizes = [{letter: int(gpu.attrib[f"{letter}_chunks"]) for letter in "ios"} for gpu in gpus]
        self.memories, self.chunks = buffers_of(self.collective, sizes, self.in_place)
        in_loop = int(root.attrib["nchunksperloop"])
        need(in_loop == max(sizes[0]["i"], sizes[0]["o"]), "chunks of a loop")
        self.queues, self.done, self.awaited, self.blocks = {}, {}, set(), []
        for rank, gpu in enumerate(gpus):
            blocks = gpu.findall("tb")
            need(len(blocks) <= XML_MOST["blocks"], "too many thread blocks")
            ends = set()
            for number, described in enumerate(blocks):
                need(int(described.attrib["id"]) == number and described.attrib["chan"] == "0", "a thread block's id")
                steps = [dict(step.attrib) for step in described.findall("step")]
                need(len(steps) <= XML_MOST["step"], "too many steps")
                for position, step in enumerate(steps):
                    step |= {name: int(step[name]) for name in ("s", "srcoff", "dstoff", "cnt", "depid", "deps", "hasdep")}
                    need(step["s"] == position and 0 <= step["cnt"] < XML_MOST["cnt"], "a step's number or count")
                    need(max(step["srcoff"], step["dstoff"]) < XML_MOST["offset"], "an offset")
                    if step["depid"] >= 0:
                        self.awaited.add((rank, step["depid"], step["deps"]))
                for position, step in enumerate(steps):  # waits of empty steps belong to the next real one
                    need(step["type"] != "nop" or (position + 1 < len(steps) and steps[position + 1]["depid"] >= 0), "a last wait")
                block = Block(rank, number, steps)
                block.send, block.receive = int(described.attrib["send"]), int(described.attrib["recv"])
                for end in (("send", block.send), ("receive", block.receive)):
                    need(-1 <= end[1] < len(gpus) and end[1] != rank, "a peer")
                    need(end[1] < 0 or end not in ends, "two blocks of one connection")
                    ends.add(end)
                block.sent = block.received = 0  # chunks of the current step
                self.blocks.append(block)

    def execute(self, block, step):
        if step["depid"] >= 0:
            before = (block.rank, step["depid"], step["deps"])
            if before not in self.done:
                return NOTHING
            block.learn(self.done[before])
        memory, kind, count = self.memories[block.rank], step["type"], step["cnt"]
        need((kind == "nop") == (count == 0), "a count")
        happened = DONE
        if kind == "s":
            happened = self.send(block, memory, step)
        elif kind in ("r", "rrc"):
            happened = self.receive(block, memory, step)
        elif kind in ("cpy", "re"):
            for i in range(count):
                value = memory.read(block, step["srcbuf"], step["srcoff"] + i)
                if kind == "re":
                    value += memory.read(block, step["dstbuf"], step["dstoff"] + i)
                memory.write(block, step["dstbuf"], step["dstoff"] + i, value, self.in_place)
        else:
            need(kind == "nop", f"unknown step {kind}")
        if happened != DONE:
            return happened
        key = (*block.key, block.position)
        if step["hasdep"]:
            self.done[key] = block.leave()
        else:
            need(key not in self.awaited, "a step that is awaited without saying so")
        return DONE

    def send(self, block, memory, step):
        need(block.send >= 0, "a send without a peer")
        queue = self.queues.setdefault((block.rank, block.send), [])
        if queue:
            return NOTHING
        queue.append((memory.read(block, step["srcbuf"], step["srcoff"] + block.sent), step["cnt"]))
        block.sent = (block.sent + 1) % step["cnt"]
        return A_PART if block.sent else DONE

    def receive(self, block, memory, step):
        need(block.receive >= 0, "a receive without a peer")
        queue = self.queues.setdefault((block.receive, block.rank), [])
        if not queue:
            return NOTHING
        value, count = queue.pop()
        need(count == step["cnt"], "a message of another length")
        if step["type"] == "rrc":
            need((step["srcbuf"], step["srcoff"]) == (step["dstbuf"], step["dstoff"]), "two places of one sum")
            value += memory.read(block, step["dstbuf"], step["dstoff"] + block.received)
        memory.write(block, step["dstbuf"], step["dstoff"] + block.received, value, self.in_place)
        block.received = (block.received + 1) % count
        return A_PART if block.received else DONE

    def run(self):
        run_all(self.blocks, self.execute)
        need(not any(self.queues.values()), "a message without a receive")
        check_results(self.collective, self.memories, 0, self.chunks, self.in_place)


def run_xml(text):
    try:
        Xml(text).run()
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise Broken(repr(error)) from error
