"""Run the property tests and the simulation again and again with new seeds until the time is up: `python -m tools.soak --seconds 3600`.

`--run` runs one of them alone. `production` is the simulation of the server itself, `controllers` that of controllers with fake brokers,
`leases` that of brokers with their clients; `starts` are real Kafka servers on damaged directories, compared with `metashell verify
--start-safe`, `repairs` and `restores` those on mended ones. `brokers` are real brokers on our controllers, of which nodes die for ten
minutes; `twins` are random requests to a real controller and to ours, `listener` every golden scenario over a listener, `spoilt` requests
of every API with every byte changed; `requests` and `histories` are the controller alone, asked at random. `groups` are random
conversations with a real group coordinator and ours, `group-requests` ours alone, asked at random, `group-invariants` consumer groups of
members that obey the rules, `rebalance` whole groups to which anything happens; `group-logs` reads the log of the real one while it runs
and compares with what it answers, `spoilt-group-logs` are logs of groups with every fault, `group-server` spoilt frames; `group-tools` are
walks of Kafka's group tools beside ours; `stores` and `durability` are faults of object stores and disks at every call.
`surroundings` are the quick tests in another zone, locale and umask, by another user, from an archive, and beside busy loops
(`tools/surroundings.py`). Mutations are new ones each time, of every room. Surroundings and mutations take long, so they are run once, in
the first round.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tools.surroundings import SURROUNDINGS, run

ROOT = Path(__file__).resolve().parents[1]
SEEDS = {"simulation": 200, "production": 60, "controllers": 40, "leases": 300}
"""Seeds of the simulations a round, for each worker: of the core alone, of the server, of controllers, of brokers with clients."""
INTEROP = {
    "starts": "interop/test_start_safe.py",
    "repairs": "interop/test_repair.py",
    "restores": "interop/test_restore.py",
    "brokers": "interop/test_brokers.py",
    "twins": "interop/test_twins.py",
    "scripts": "interop/test_twins_scripts.py",
    "listener": "quorum/server/test_listener_golden.py",
    "spoilt-answers": "fuzz/test_answers.py",
    "damaged-files": "inspect/dump/test_disk_damage.py",
    "spoilt": "quorum/server/test_spoilt_requests.py",
    "requests": "quorum/controller/test_any_request.py",
    "histories": "quorum/controller/test_model.py",
    "reassign": "interop/test_reassign.py",
    "rebalance": "simulation/groups/test_chaos.py",
    "groups": "interop/test_group_twins.py",
    "group-requests": "groups/coordinator/test_coordinator.py",
    "group-logs": "interop/test_group_logs.py",
    "spoilt-group-logs": "groups/log/test_damaged_logs.py",
    "group-invariants": "groups/consumer/test_invariants.py",
    "group-server": "groups/server/test_server.py",
    "group-tools": "interop/test_group_tools.py",
    "stores": "test_store_keys_everywhere.py",
    "durability": "tables/lake/test_durability.py",
    "faults-steps": "tables/lake/test_faults_steps.py",
}
"""What runs more cases with METASHELL_SOAK, most of them new ones by a new METASHELL_SEED each round."""
RUNS = ("properties", *SEEDS, *INTEROP, "surroundings", "mutation")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="start no new round after this time")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--run", action="append", choices=RUNS, help="run this one only; by default all")
    parser.add_argument("paths", nargs="*", default=["tests"])
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        rounds += 1
        print(f"round {rounds}", flush=True)
        wanted = arguments.run or RUNS
        status = run_round(arguments.workers, arguments.paths) if "properties" in wanted else 0
        if status:
            print(f"round {rounds} failed; the lines `@reproduce_failure` above repeat it", flush=True)
            return status
        for name in SEEDS:
            if name in wanted and run_simulation(name, arguments.workers):
                print(f"round {rounds} failed; the command above repeats it", flush=True)
                return 1
        for name in INTEROP:
            if name in wanted and run_interop(name):
                print(f"round {rounds} failed; the tests above, with METASHELL_SOAK=1 and the METASHELL_SEED above, repeat it", flush=True)
                return 1
        if rounds == 1 and "surroundings" in wanted:
            statuses = [run(name, arguments.workers, ["tests"]) for name in SURROUNDINGS]
            if any(statuses):
                return 1
        if rounds == 1 and "mutation" in wanted and run_mutation(arguments.workers):
            print("too many mutations survived, or the list of equivalent ones is wrong; see above", flush=True)
            return 1
    print(f"{rounds} rounds passed")
    return 0


def run_round(workers: int, paths: list[str]) -> int:
    """One run of every test that has a property, in the profile `soak`, under another order of hashes."""
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "soak",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONHASHSEED": "random",
    }
    plugins = ["-p", "xdist.plugin", "-p", "_hypothesis_pytestplugin"]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-n", str(workers), "--dist", "worksteal"]
    return subprocess.run([*command, *plugins, *paths], cwd=ROOT, env=environment, check=False).returncode


def run_simulation(name: str, workers: int) -> int:
    """New seeds of tests/simulation on every worker; a failure is shrunk and printed by the one that found it."""
    kind = {"production": ["--production"], "controllers": ["--controller"], "leases": ["--brokers"]}.get(name, [])
    running = []
    for _ in range(workers):
        first = random.SystemRandom().randrange(1 << 40)
        count = str(SEEDS[name])
        command = [sys.executable, "-m", "tests.simulation", str(first), "--count", count, "--shrink", "--last", "40", *kind]
        running.append(subprocess.Popen(command, cwd=ROOT))
    return max([process.wait() for process in running])


def run_interop(name: str) -> int:
    """The unbounded form of tests that start real Kafka nodes: METASHELL_SEED repeats what is random."""
    seed = str(random.SystemRandom().randrange(1 << 40))
    print(f"METASHELL_SEED={seed}", flush=True)
    environment = {**os.environ, "METASHELL_SOAK": "1", "METASHELL_SEED": seed, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", f"tests/{INTEROP[name]}"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def run_mutation(workers: int) -> int:
    """Random mutations of every room."""
    seed = str(random.SystemRandom().randrange(1 << 40))
    print(f"python -m tools.mutation --seed {seed}", flush=True)
    command = [sys.executable, "-m", "tools.mutation", "--jobs", str(workers), "--seed", seed]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
