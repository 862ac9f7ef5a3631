# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines: each ends with exit code 64, prints one line and measures nothing. The lines are in tests/golden."""
import concurrent.futures
import shlex
import sys
import unittest

import tutti

sys.path.insert(0, str(tutti.ROOT / "tests/golden"))
import golden  # noqa: E402  # pylint: disable=wrong-import-position

USAGE = 64
END = '{"v":1,"kind":"end","launch":1,"ok":true,"wall_ns":1}\n'
FILES = {"empty.jsonl": "", "table.csv": "size,count\n", "torn.jsonl": '{"v":1,"kind":"se', "line2.jsonl": END + '{"v":1,\n' + END,
         "newer.jsonl": END.replace('"v":1', '"v":2'), "end.jsonl": END, "letter.txt": "Dear reader,\n", "cut.libsvm": "1 1:1\n2 1:",
         "square.txt": "1 2\n3 4\n",
         "machine.json": '{"v": 1, "kind": "machine",\n"hosts": 7}', "blank.json": " \n", "limits.jsonl": "GB/s 12\n",
         "none.json": '{"format": "tutti-table", "version": 1, "sections": []}', "list.json": '{"schema": "list/1"}\n',
         "cut.jsonl": '{"schema":"gradtrace/1","form":"lines","kind":"ops","model":"calls","world":2}\n'
                      '{"line":"op","rank":0,"op":"send","peer":1,"count":1000,"deps":[1]}\n'}
PROGRAMS = "--program-a true --program-b true --metric (x)"

# By the file of tests/golden/cli/refusals that has their messages.
COMMANDS = {"names": """
benhc
verify all_reduc
show rin
show
show ring --svgg x
bench all_reduc
bench all_reduce --algo rng
bench all_reduce --algo ring,tre
bench all_reduce -d flot
bench all_reduce -d ''
bench all_reduce -o summ
bench all_reduce --transport shmm
bench all_reduce --baseline mpl/ring
bench all_reduce --transport loopback --fault drip
bench all_reduce --inplace qqqqqqqq
bench all_reduce --buffers qqqqqqqq
bench all_reduce --input qqqqqqqq
bench all_reduce --order-by qqqqqqqq
bench all_reduce --trasport shm
bench all_reduce --algos=ring
bench all_reduce --nope
bench all_reduce -o SUM
bench all_reduce all_gather
bench all_reduce -d float,
bench all_reduce --like nccl-tests,
help bennch
tune --buget 3s
list --jsn
list --nope
topo --form x
topo extra
verify --rank 3
report
results
results improt x
results import
results list --bd x
history
history ring x.jsonl --level 2
check-guidelines
check-guidelines end.jsonl --format xml
check-guidelines end.jsonl --format text --format json
check-guidelines end.jsonl --library mpi --candidates best
ci-guard
ci-guard HEAD --build
""", "bench": """
bench all_reduce --ranks-per-node 2 --ranks-per-island 3
bench scatter --algo double-tree
bench all_reduce --algo none --baseline none
bench all_reduce --fault drop
bench all_reduce -b 1M -e 8
bench all_reduce -b 4Q
bench all_reduce -b -8
bench all_reduce -f 1
bench all_reduce -f nan
bench all_reduce -f twice
bench all_reduce -b 1 -e 4G -f 1.0000001
bench all_reduce -b 1 -e 4G -i 1
bench all_reduce -i 0
bench all_reduce -n 0
bench all_reduce -np 2
bench all_reduce -n 5 --target-ci 1%
bench all_reduce -n 5 --budget 9s
bench all_reduce -i 1M -f 2
bench all_reduce --counts 4 -b 8
bench all_reduce --budget 0s
bench all_reduce --learn-bound 3%
bench all_reduce --algo learn --learn-bound 300%
bench all_reduce --table-anyway
bench all_reduce --ranks two
bench all_reduce -g 2
bench all_reduce --csv
bench all_reduce --csv .
bench all_reduce --json .
bench all_reduce --ranks 2 --algo auto --table .
bench all_reduce -T nan
bench all_reduce -T 0
bench all_reduce --max-time -1s
bench all_reduce --max-time nans
bench all_reduce --max-time 0.2
bench all_reduce --max-time soon --ranks 2
bench all_reduce --budget infs
bench all_reduce --budget 20
bench all_reduce --budget ''
bench all_reduce --target-ci -2%
bench all_reduce --target-ci nan%
bench all_reduce --target-ci x
bench all_reduce --learn-bound nan
bench all_reduce --counts x
bench all_reduce --counts 99999999999999999
bench all_reduce --counts 9999999999999
bench all_reduce --counts ''
bench all_reduce -r x
bench all_reduce -r 0,1
bench broadcast -r 9 --ranks 2
bench all_reduce --ranks 0
bench all_reduce --seed -1
bench all_reduce --seed 99999999999999999999
bench all_reduce --segment 0
bench all_reduce --segment 16K,big
bench all_reduce --radix 1
bench all_reduce --radix 4,65
bench all_reduce --radix wide
bench all_reduce --channels 0
bench all_reduce --channels 1,65
bench all_reduce --json letter.txt
bench all_reduce --json /dev/full
bench all_reduce --json /proc/no/r.jsonl
bench all_reduce --csv /proc/no/r.csv
bench all_reduce -J a.csv --csv b.csv
bench all_reduce -J a.xyz
bench all_reduce --json end.jsonl --csv ./end.jsonl
bench all_reduce --json end.jsonl --timeline end.jsonl
bench all_reduce --csv new --timeline new
bench all_reduce --ranks 2 --timeline .
bench all_reduce --ranks 2 --timeline t.json --launches 2
bench all_reduce --ranks 2 --resume
bench all_reduce --ranks 2 --resume=
bench all_reduce --launches 2
bench all_reduce --ranks 2 --launches 2 --csv /proc/no/r.csv
bench all_reduce --ranks 2 --launches 2 --no-such-option
bench all_reduce --ranks 2 --launches 2 --json /dev/full
bench all_reduce --ranks 2 --launcher env
bench all_reduce --ranks 2 --limits limits.jsonl
bench all_reduce --ranks 2 --algo auto --table t.json
bench all_reduce --ranks 2 --algo auto --table blank.json
bench all_reduce --ranks 2 --algo auto --table none.json
bench broadcast --numerics
bench all_reduce --numerics -o sum,max
bench all_reduce --numerics -d float,int32
bench all_reduce --numerics --ranks 2 --launches 2
bench all_reduce --rendezvous node3:1 --rank 0 --size 2
bench all_reduce --rendezvous tcp://localhost:1
bench all_reduce --rendezvous tcp://localhost:1 --rank a --size 2
bench all_reduce --rendezvous tcp://localhost:1 --rank 2 --size 2
bench all_reduce --rendezvous
bench all_reduce --rank 0
bench all_reduce --rendezvous auto
bench all_reduce --rendezvous auto --rank 1
bench all_reduce --ranks 2 --rendezvous tcp://localhost:1 --rank 0 --size 2
bench all_reduce --like nccl
bench all_reduce --like nccl-tests,full
limits --budget -4s
limits --budget 0s
limits -T 0
run --with none.json -- true
run mpirun -np 2 true
run --with off -- no/such/program
run --after x -- true
run --block 10 -- true
run --ab --block 0 -- true
run --ab --with off -- true
""", "schedules_and_files": """
show ring --radix 3
show tree --radix 1
show ring --all-rows
show ring all_reduce tree
show ring all_reduce --ranks 100000
show ring all_reduce --placement 2x0
show ring all_reduce --placement a,,b
show ring all_reduce --placement 2x2 --ranks 4
show none.jsonl
show none.json/
show .
show end.jsonl --candidates ring,
show empty.jsonl
show line2.jsonl
show end.jsonl
show end.jsonl --ranks 4
show end.jsonl --like ocu
verify --radix 1..3
verify --ranks 8..1
verify --ranks many
verify all_to_all --algo butterfly --ranks 3
report empty.jsonl
report table.csv
report torn.jsonl
report line2.jsonl
report newer.jsonl
report none.jsonl
report .
topo --svg /dev/full
topo --dot /dev/full
show ring all_reduce --svg /dev/full
topo --hosts 2
topo --nvlinks 12
topo --paths --rings --json
topo --rings --json --order-file -
topo --order-file none/order.txt
topo --from machine.json
topo --from absent
topo --root letter.txt
results list --db none.sqlite
history ring
check-guidelines end.jsonl --tolerance 5x
""", "compare": f"""
compare
compare --metric (.*)
compare --program-a 'echo 1'
compare --program-a 'echo 1' --program-b 'echo 1'
compare --program-a 'echo 1' --program-b 'echo 1' --metric x
compare --program-a 'echo 1' --program-b 'echo 1' --metric (
compare --program-a 'echo 1' --program-b 'echo 1' --metric x(.*)
compare --program-a 'echo a' --program-b 'echo a' --metric (a)
compare --program-a 'echo 1' --program-b 'echo 1' --metric /a
compare --program-a 'echo 1 1' --program-b 'echo 1 1' --metric '^(.+) (.+)' --attribute
compare --fail-on slow
compare none.jsonl end.jsonl
compare bench all_reduce
compare -- tutti bench all_reduce
compare --words-a --algo ring -- bench all_reduce
compare --write junit=out.xml end.jsonl no.jsonl
compare --write junit
compare --write junti=x
compare --from /dev/null
compare --from ''
compare --quads 3
compare --run-timeout 0
compare --run-timeout 3s -- bench all_reduce
compare --env-a NAME -- bench all_reduce
compare no/such/tutti -- bench all_reduce
compare --resume end.jsonl
compare end.jsonl
compare end.jsonl no.jsonl
compare end.jsonl empty.jsonl
compare --baseline end.jsonl
compare end.jsonl end.jsonl
compare end.jsonl end.jsonl --at-most 'all_reduce 64 p50'
compare --baseline end.jsonl --env-a X=1 -- bench all_reduce
compare --launches 3 -- bench all_reduce
compare end.jsonl end.jsonl --fail-on ''
compare end.jsonl end.jsonl --baseline ''
compare end.jsonl end.jsonl --threads
compare end.jsonl end.jsonl --quads 8
compare end.jsonl end.jsonl --program-b true
compare {PROGRAMS} --baseline end.jsonl
compare {PROGRAMS} --words-b x
compare {PROGRAMS} -n 4
compare --rate -- bench all_reduce
compare {PROGRAMS} --at-most 'all_reduce 8 p50 1us'
compare --threads --launcher 'mpirun -n 2' -- bench all_reduce
compare --threads -- bench all_reduce --csv=x.csv
compare --threads --words-a -Jx.jsonl -- bench all_reduce
compare --baseline end.jsonl -- bench all_reduce --json x
compare --aa 3 --at-most 'all_reduce 8 p50 1us' -- bench all_reduce
""", "tune": """
tune nothing
tune
tune -b 1M -e 8
tune -f nan
tune -b 1 -e 4G -f 1.0000001
tune --seed -1
tune --budget 0
tune --hysteresis -3%
tune --hysteresis 300%
tune --ranks 2 --table .
tune --search deep
tune --model-only
tune --for-ranks x --model-only
tune --for-ranks 8
tune --ranks-per-host 8
tune --explain a --merge b
tune --explain none.json
tune --explain absent.json
tune --table new.json --merge blank.json
tune --launches 2
tune --launches 2 --ranks 2 --resume
tune --launches 2 --merge a b
tune --launches 2 --launcher false
tune --svg map.svg
tune --repetitions 5
tune --hold-out yes --baseline none
tune --hold-out only --baseline none
""", "workloads": """
workload
workload dpd
workload ddp --model resnet5
workload ddp --scale 2
workload ddp --scale tiny
workload ddp --bucket-cap lots
workload ddp --step-time soon
workload ddp --step-time 20
workload ddp --max-time 3
workload ddp --max-time nans
workload ddp --target-ci nan
workload ddp --seed 1x
workload ddp --stpes 3
workload ddp --broadcast-buffers maybe
workload ddp --compute nap
workload ddp --algo rong
workload ddp --algo none --baseline none
workload ddp --ranks 2 --table absent.json
workload ddp --ranks 2 --algo auto --table none.json
workload ddp --min-steps 9 -n 3
workload ddp --ranks 2 --compress zip
workload ddp --ranks 2 --compress topk:0
workload ddp --ranks 2 --skew much
workload ddp --ranks 2 --slow-rank 1
workload ddp --ranks 2 --slow-rank 5:2
workload ddp --ranks 2 --bucket-cap auto --network fast
workload ddp --ranks 2 --network 100us+1.25GB/s
workload zero --stage 4
workload zero --prefetch 3
workload zero --bucket lots
workload zero --model gpt3
workload zero --element int8
workload tensor-parallel --model resnet50
workload tensor-parallel --sequence-parallel maybe
workload tensor-parallel --model gpt2 --tensor-ranks 3 --ranks 2
workload pipeline --schedule 2f2b
workload pipeline --micro-batches 0
workload pipeline --model dlrm
workload pipeline --model bert-base --stages 3 --ranks 2
workload moe --model gpt2
workload moe --expert-ranks 9
workload moe --zipf much
workload moe --expert-ranks 2 --ranks 3
workload moe --padding some
workload moe --routing nowhere
workload moe --routing letter.txt
workload moe --routing square.txt --tokens 5
workload moe --routing square.txt --ranks 4
workload train --network gpt
workload train --optimizer newton
workload train --data nowhere
workload train --data cut.libsvm
workload train --batch 0
workload train --scaling weak --batch 1000 --ranks 2
workload train --bucket-cap none
workload train --learning-rate fast
workload train --optimizer lbfgs --batch 32
workload parameter-server --ranks 2 --servers 9
workload parameter-server --ranks 2 --servers many
workload parameter-server --ranks 2 --mode both
workload parameter-server --ranks 2 --slow-rank 1
workload parameter-server --ranks 2 --slow-rank 2:3
workload parameter-server --ranks 2 --drop-slowest 2
workload parameter-server --ranks 2 --staleness-bound x
workload parameter-server --ranks 2 --network resnet
workload parameter-server --ranks 2 --messages mpi
workload federated --ranks 2 --data mixed
workload federated --ranks 2 --clients 0
workload federated --ranks 2 --batch 1000
workload replay --ranks 2
workload replay absent --ranks 2
workload replay list.json --ranks 2
workload replay letter.txt --ranks 2
workload replay empty.jsonl --ranks 2
workload replay cut.jsonl --ranks 2
workload replay cut.jsonl --ranks 2 --bucket-cap x
workload replay cut.jsonl --ranks 2 --repeat 0
"""}


class Refusals(tutti.Folder):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.file(name, text)

    def message(self, command):
        done = tutti.run(*shlex.split(command), cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (USAGE, 1), f"tutti {command}\n{done.stdout[-500:]}{done.stderr}")
        self.assertNotIn("Avg bus bandwidth", done.stdout)
        return f"$ tutti {command}\n{done.stderr}"

    def test_are_one_line_with_exit_code_64(self):
        for group, commands in COMMANDS.items():
            with self.subTest(group), concurrent.futures.ThreadPoolExecutor(4) as pool:
                golden.expect(self, f"cli/refusals/{group}.txt", "".join(pool.map(self.message, commands.strip().splitlines())))

    def test_leave_files_as_they_were(self):
        for command in ("bench all_reduce --json letter.txt", "bench all_reduce --json end.jsonl --csv ./end.jsonl",
                        "tune --table new.json --merge blank.json"):
            self.message(command)
        self.assertEqual({path.name: path.read_text() for path in self.folder.iterdir()}, FILES)


if __name__ == "__main__":
    unittest.main()
