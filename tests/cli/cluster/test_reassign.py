"""metashell reassign, through the controllers of a quorum whose brokers copy nothing until the test says that they have."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster import reassign_apply
from metashell.codec import messages
from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.errors import MetashellError
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.rehearse.placement import Assignment, write_plan
from tests.administering import command, lines, objects
from tests.extra_broker import PATIENT, ExtraBroker

if TYPE_CHECKING:
    from metashell.cli.cluster.noun_tool import Work

FOUR = "101:102,102:103,101:103,101:102"


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=4, properties=PATIENT) as quorum:
        yield quorum


@pytest.fixture
def topic(quorum: EmbeddedQuorum) -> Iterator[str]:
    lines(quorum, "topics", "create", "orders", "--assignment", FOUR)
    yield "orders"
    lines(quorum, "topics", "delete", "orders", "--yes")
    quorum.wait_for(lambda image: "orders" not in image.topics.by_name)


@pytest.fixture
def plan(quorum: EmbeddedQuorum, topic: str, tmp_path: Path) -> str:
    """Everything off broker 101."""
    path = tmp_path / "plan.json"
    lines(quorum, "reassign", "plan", "--off", "101", "--out", str(path))
    return str(path)


def catch_up(quorum: EmbeddedQuorum, topic: str, *ids: int) -> None:
    """All replicas of these partitions are in sync: their leaders say so."""
    for id in ids:
        image = quorum.image
        found = image.topics.by_name[topic]
        partition = found.partitions[id]
        request = messages.AlterPartitionRequest
        epoch = {broker: image.cluster.brokers[broker].epoch for broker in partition.replicas}
        data = request.PartitionData(
            partition_index=id,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=tuple(request.BrokerState(broker_id=broker, broker_epoch=epoch[broker]) for broker in partition.replicas),
            leader_recovery_state=0,
            partition_epoch=partition.partition_epoch,
        )
        topics = (request.TopicData(topic_id=found.id, partitions=(data,)),)
        answer = quorum.request(request(broker_id=partition.leader, broker_epoch=epoch[partition.leader], topics=topics))
        assert answer.error_code == 0, answer
    quorum.wait_for(lambda image: not any(image.topics.by_name[topic].partitions[id].adding_replicas for id in ids))


def configs(quorum: EmbeddedQuorum) -> dict[tuple[int, str], dict[str, str]]:
    """What is set of throttles."""
    return {key: found for key, values in quorum.image.configs.items() if (found := {k: v for k, v in values.items() if "throttled" in k})}


def test_a_plan_shows_what_it_makes_better_and_what_it_costs(quorum: EmbeddedQuorum, topic: str) -> None:
    told = lines(quorum, "reassign", "plan")
    assert told[0].split() == ["BEFORE", "AFTER"]
    assert "replicas: most minus least of a broker              3      0" in told
    assert "103     -            2      2        0      1     0" in told
    assert told[-2] == "3 partitions of 4 change; 2 of 8 replicas are copied"
    assert told[-1] == "metashell reassign plan: nothing was written: --out FILE writes the plan"
    (found,) = (json.loads(command(quorum, "reassign", "plan", "-o", "json").stdout),)
    assert found["after"]["replica_spread"] == 0 and found["replicas_moved"] == 2 and found["bytes_moved"] is None
    assert {tuple(row["adding"]) for row in objects(quorum, "reassign", "plan") if row["adding"]} == {(104,)}


def test_a_plan_goes_by_sizes(quorum: EmbeddedQuorum, topic: str, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.json"
    held = [{"partition": f"orders-{id}", "size": (id + 1) * 10**9, "offsetLag": 0, "isFuture": False} for id in range(4)]
    text = json.dumps({"version": 1, "brokers": [{"broker": 101, "logDirs": [{"logDir": "/d", "error": None, "partitions": held}]}]})
    sizes.write_text(f"Querying brokers for log directories information\nReceived log directory information from brokers 101\n{text}\n")
    told = lines(quorum, "reassign", "plan", "--sizes", str(sizes), "--throttle", "50M")
    assert any("2 of 8 replicas are copied (3 GB)" in line for line in told), told
    assert any(line.startswith("at 52.4 MB/s for each broker that takes at least 58 s") for line in told), told
    sizes.write_text(text.replace("orders-2", "other-2"))
    told = lines(quorum, "reassign", "plan", "--sizes", str(sizes))
    assert any(line.endswith("1 of 4 partitions have no size: they count as 0 bytes") for line in told), told
    sizes.write_text(text.replace("orders-", "other-"))
    (told_,) = lines(quorum, "reassign", "plan", "--sizes", str(sizes), status=2)
    assert told_.endswith("sizes.json: sizes of unknown topics: other: of another cluster?")


def test_apply_throttles_goes_on_and_takes_the_throttle_away(quorum: EmbeddedQuorum, plan: str) -> None:
    told = lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    assert told[0] == "orders:0: 101,102 -> 104,102"
    set_now = configs(quorum)
    rates = {"leader.replication.throttled.rate": "1024", "follower.replication.throttled.rate": "1024"}
    assert [set_now[4, str(id)] for id in (101, 102, 103, 104)] == [rates] * 4
    assert set_now[2, "orders"]["leader.replication.throttled.replicas"] == "0:101,0:102,2:101,2:103,3:101,3:102"
    assert objects(quorum, "reassign", "status", plan, status=1)[0] == {
        "type": "reassignment_plan",
        "done": 0,
        "moving": 3,
        "waiting": 0,
        "changed": 0,
    }
    assert [row["partition"] for row in objects(quorum, "reassign", "status")] == [0, 2, 3]
    catch_up(quorum, "orders", 0)
    # Once more: what is under way is left alone, what is done too.
    stays = f"metashell reassign apply: the throttle stays until `metashell reassign status {plan} --clear-throttle --throttle 1024`"
    assert lines(quorum, "reassign", "apply", plan, "--throttle", "1k") == [stays]
    assert lines(quorum, "reassign", "status", plan, status=1)[0] == "3 partitions: 1 done, 2 moving"
    told = lines(quorum, "reassign", "status", plan, "--clear-throttle", status=1)
    assert told == ["metashell reassign status: the throttle stays: 2 of 3 partitions are being moved"]
    catch_up(quorum, "orders", 2, 3)
    assert lines(quorum, "reassign", "apply", plan) == ["nothing to do: all 3 partitions are where they should be"]
    assert lines(quorum, "reassign", "status", plan) == ["3 partitions: 3 done"]
    assert lines(quorum, "reassign", "status", plan, "--clear-throttle", "--throttle", "1k") == ["the throttle is removed"]
    quorum.wait_for(lambda image: not any("throttled" in key for values in image.configs.values() for key in values))


def test_rates_of_others_stay_and_are_named(quorum: EmbeddedQuorum, plan: str) -> None:
    rate = "leader.replication.throttled.rate"
    lines(quorum, "configs", "set", "broker:102", f"{rate}=7", "--yes")
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    catch_up(quorum, "orders", 0, 2, 3)
    told = lines(quorum, "reassign", "status", plan, "--clear-throttle")
    by = "metashell reassign status: "
    again = f"`metashell reassign status {plan} --clear-throttle --throttle RATE`"
    assert told == [
        "the rest of the throttle is removed",
        f"{by}a rate of 1024 bytes/s stays: broker:101, broker:103, broker:104",
        f"{by}a rate of 1024, 7 bytes/s stays: broker:102",
        f"{by}rates are removed only if --throttle names them: {again}",
    ]
    quorum.wait_for(lambda image: not image.configs.get((2, "orders")))
    assert len(configs(quorum)) == 4
    told = lines(quorum, "reassign", "status", plan, "--clear-throttle", "--throttle", "1k")
    assert told == ["the rest of the throttle is removed", f"{by}a rate of 7 bytes/s stays: broker:102"]
    quorum.wait_for(lambda image: configs(quorum) == {(4, "102"): {rate: "7"}})
    lines(quorum, "configs", "unset", "broker:102", rate, "--yes")


def test_rates_are_found_after_the_topic_is_deleted(quorum: EmbeddedQuorum, plan: str) -> None:
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    lines(quorum, "topics", "delete", "orders", "--yes")
    quorum.wait_for(lambda image: "orders" not in image.topics.by_name)
    assert len(configs(quorum)) == 4
    assert lines(quorum, "reassign", "status", plan, "--clear-throttle", "--throttle", "1k") == ["the throttle is removed"]
    quorum.wait_for(lambda image: not configs(quorum))
    lines(quorum, "topics", "create", "orders", "--assignment", FOUR)


def test_rates_are_found_where_a_list_has_every_replica(quorum: EmbeddedQuorum, plan: str) -> None:
    every = "leader.replication.throttled.replicas=*", "follower.replication.throttled.replicas=*"
    lines(quorum, "configs", "set", "topic:orders", *every, "--yes")
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    lines(quorum, "reassign", "cancel", plan, "--throttle", "1k")
    quorum.wait_for(lambda image: configs(quorum) == {(2, "orders"): dict(one.split("=") for one in every)})


def test_partitions_that_others_move_keep_their_throttle(quorum: EmbeddedQuorum, plan: str, tmp_path: Path) -> None:
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    catch_up(quorum, "orders", 0, 2, 3)
    other = tmp_path / "other.json"
    other.write_text(write_plan([Assignment("orders", 0, (103, 102))]))
    lines(quorum, "reassign", "apply", str(other), "--throttle", "1k")
    told = lines(quorum, "reassign", "status", plan, "--clear-throttle", "--throttle", "1k")
    by = "metashell reassign status: "
    assert told == [
        "the rest of the throttle is removed",
        f"{by}the rate stays, for other moves need it: broker:102, broker:103, broker:104",
        f"{by}orders:0: its throttled replicas stay: it is being moved",
    ]
    quorum.wait_for(lambda image: (4, "101") not in configs(quorum))
    entries = configs(quorum)[2, "orders"]["follower.replication.throttled.replicas"].split(",")
    assert "0:103" in entries and all(entry.startswith("0:") for entry in entries)
    catch_up(quorum, "orders", 0)
    assert lines(quorum, "reassign", "status", str(other), "--clear-throttle", "--throttle", "1k") == ["the throttle is removed"]
    quorum.wait_for(lambda image: not configs(quorum))


def test_batches_wait_for_each_other(quorum: EmbeddedQuorum, plan: str) -> None:
    lines(quorum, "configs", "set", "broker:102", "leader.replication.throttled.rate=7", "--yes")
    done = threading.Event()

    def copy() -> None:
        most = 0
        while not done.is_set():
            moving = [id for id, one in quorum.image.topics.by_name["orders"].partitions.items() if one.adding_replicas]
            most = max(most, len(moving))
            assert most <= 1
            if moving:
                catch_up(quorum, "orders", *moving)
            time.sleep(0.02)

    thread = threading.Thread(target=copy)
    thread.start()
    try:
        told = lines(quorum, "reassign", "apply", plan, "--throttle", "1k", "--batch", "1", "--wait", "20")
    finally:
        done.set()
        thread.join()
    assert told[:4] == [
        "orders:0: 101,102 -> 104,102",
        "orders:2: 101,103 -> 103,104",
        "orders:3: 101,102 -> 102,103",
        "3 partitions moved",
    ]
    assert "metashell reassign apply: broker:102 keeps the throttle that it has: 7 bytes/s" in told
    quorum.wait_for(lambda image: not image.configs.get((4, "104")))
    assert configs(quorum) == {(4, "102"): {"leader.replication.throttled.rate": "7"}}
    lines(quorum, "configs", "unset", "broker:102", "leader.replication.throttled.rate", "--yes")


def test_cancel_goes_back_and_apply_begins_again(quorum: EmbeddedQuorum, plan: str) -> None:
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    catch_up(quorum, "orders", 0)
    assert lines(quorum, "reassign", "cancel", plan, "--dry-run") == ["orders:2: would be cancelled", "orders:3: would be cancelled"]
    assert lines(quorum, "reassign", "cancel", plan, "--throttle", "1k") == ["orders:2: cancelled", "orders:3: cancelled"]
    quorum.wait_for(lambda image: not configs(quorum))
    assert lines(quorum, "reassign", "cancel", plan) == ["metashell reassign cancel: no move of the plan is under way"]
    told = lines(quorum, "reassign", "cancel", plan, "--throttle", "1k")
    assert told[1:] == [
        f"metashell reassign cancel: what is set of its throttle stays until `metashell reassign status {plan} "
        "--clear-throttle --throttle 1024`"
    ]
    assert lines(quorum, "reassign", "status", plan, status=1)[0] == "3 partitions: 1 done, 2 waiting"
    assert len(objects(quorum, "reassign", "apply", plan)) == 2
    warning, refused = lines(quorum, "reassign", "cancel", "--all", status=2)
    assert "moves that others began are stopped too" in warning and "--yes" in refused
    assert len(objects(quorum, "reassign", "cancel", "--all", "--yes")) == 2
    assert lines(quorum, "reassign", "status") == ["metashell reassign status: no move is under way"]


def test_what_ctrl_c_leaves_is_told_and_apply_goes_on(quorum: EmbeddedQuorum, plan: str) -> None:
    code = "import sys; from metashell.cli.cluster.reassign import main; sys.exit(main(sys.argv[1:]))"
    words = ["apply", plan, "-C", quorum.bootstrap_controllers, "--batch", "2", "--throttle", "1k"]
    process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = [process.stdout.readline(), process.stdout.readline()]
        assert told == ["orders:0: 101,102 -> 104,102\n", "orders:2: 101,103 -> 103,104\n"]
        catch_up(quorum, "orders", 0)
        assert process.stdout.readline() == "orders:3: 101,102 -> 102,103\n"
        catch_up(quorum, "orders", 3)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    (line,) = stderr.splitlines()
    assert line.startswith("metashell reassign apply: stopped: ") and " being moved, which goes on in the cluster; " in line
    assert line.endswith(f"`metashell reassign status {plan} --clear-throttle --throttle 1024`. `metashell reassign apply {plan}` goes on")
    thread = threading.Timer(0.2, catch_up, (quorum, "orders", 2))
    thread.start()
    assert lines(quorum, "reassign", "apply", plan, "--throttle", "1k", "--wait", "20")[-1] == "1 partition moved"
    quorum.wait_for(lambda image: not configs(quorum))


def test_waiting_has_an_end_and_says_what_is_left(quorum: EmbeddedQuorum, plan: str) -> None:
    told = lines(quorum, "reassign", "apply", plan, "--wait", "0", status=1)
    assert told[-2:] == [
        f"metashell reassign apply: stopped: 3 of 3 partitions are being moved, which goes on in the cluster; 0 were not begun. "
        f"`metashell reassign apply {plan}` goes on",
        "metashell reassign apply: not within 0 s: 3 partitions are still being moved",
    ]
    lines(quorum, "reassign", "cancel", plan)


def test_the_end_of_waiting_is_one_for_all_batches(quorum: EmbeddedQuorum, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        """Each rest takes 1.5 s, in which what is being moved arrives."""

        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += 1.5
            partitions = quorum.image.topics.by_name["orders"].partitions
            catch_up(quorum, "orders", *(id for id, one in partitions.items() if one.adding_replicas))

    monkeypatch.setattr(reassign_apply, "time", Clock())
    told = lines(quorum, "reassign", "apply", plan, "--batch", "1", "--wait", "2", status=1)
    monkeypatch.undo()
    assert told[-1] == "metashell reassign apply: not within 2 s: 1 partitions are still being moved"
    lines(quorum, "reassign", "cancel", plan)


def test_status_is_watched_until_the_plan_is_done(quorum: EmbeddedQuorum, plan: str) -> None:
    lines(quorum, "reassign", "apply", plan)
    thread = threading.Timer(0.3, catch_up, (quorum, "orders", 0, 2, 3))
    thread.start()
    told = lines(quorum, "reassign", "status", plan, "--watch", "1")
    assert told[0] == "3 partitions: 3 moving" and told[-1] == "3 partitions: 3 done"


def test_a_dry_run_is_rehearsed(quorum: EmbeddedQuorum, plan: str) -> None:
    told = lines(quorum, "reassign", "apply", plan, "--dry-run")
    assert told[:3] == [
        "orders:0: 101,102 -> 104,102: would be moved",
        "orders:2: 101,103 -> 103,104: would be moved",
        "orders:3: 101,102 -> 102,103: would be moved",
    ]
    assert any("nothing was changed" in line for line in told)
    assert lines(quorum, "reassign", "status") == ["metashell reassign status: no move is under way"]


def test_nothing_is_begun_where_the_cluster_has_changed(quorum: EmbeddedQuorum, plan: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(write_plan([Assignment("orders", 2, (102, 104))]))
    lines(quorum, "reassign", "apply", str(other))
    told = lines(quorum, "reassign", "apply", plan, status=1)
    assert told == [
        "metashell reassign apply: orders:2: it is being moved to 102,104",
        "metashell reassign apply: nothing was begun: 1 partition of 3 not as the plan assumed; make a new plan, "
        "or do the others with --skip-changed",
    ]
    catch_up(quorum, "orders", 2)
    (told_, *_) = lines(quorum, "reassign", "apply", plan, status=1)
    assert told_ == "metashell reassign apply: orders:2: it is on 102,104, the plan took it to be on 101,103"
    told = lines(quorum, "reassign", "apply", plan, "--skip-changed", status=1)
    assert told[:2] == ["orders:0: 101,102 -> 104,102", "orders:3: 101,102 -> 102,103"]
    lines(quorum, "topics", "delete", "orders", "--yes")
    quorum.wait_for(lambda image: "orders" not in image.topics.by_name)
    assert "orders:0: there is no such topic" in lines(quorum, "reassign", "apply", plan, status=1)[0]
    lines(quorum, "topics", "create", "orders", "--assignment", FOUR)
    assert "the topic was deleted, and made anew" in lines(quorum, "reassign", "apply", plan, status=1)[0]


@pytest.mark.parametrize(
    ("replicas", "text"),
    [
        ((101, 55), "orders:0: broker 55 is not registered (the cluster has 101, 102, 103, 104); nothing was begun"),
        ((101,), "warning: these get fewer replicas than they have: orders:0"),
    ],
)
def test_plans_that_cannot_be_meant_are_refused(
    quorum: EmbeddedQuorum, topic: str, tmp_path: Path, replicas: tuple[int, ...], text: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(write_plan([Assignment("orders", 0, replicas)]))
    done = command(quorum, "reassign", "apply", str(path))
    assert done.status in (1, 2) and f"metashell reassign apply: {text}" in done.stderr.splitlines()
    assert not quorum.image.topics.by_name["orders"].partitions[0].removing_replicas


def test_a_broker_that_is_down_gets_nothing(quorum: EmbeddedQuorum, topic: str, tmp_path: Path) -> None:
    extra = ExtraBroker(quorum, 201)
    extra.fence()
    path = tmp_path / "plan.json"
    path.write_text(write_plan([Assignment("orders", 0, (201, 102))]))
    (told,) = lines(quorum, "reassign", "apply", str(path), status=1)
    assert told.endswith("orders:0: broker 201 is fenced, and a move to it would not end; nothing was begun")
    told = "\n".join(lines(quorum, "reassign", "plan"))
    assert "broker 201 is fenced: it keeps its replicas and gets none (--off 201 empties it)" in told
    (told,) = lines(quorum, "reassign", "plan", "--brokers", "101,201", status=1)
    assert told.endswith("broker 201 is fenced: it cannot take replicas now")
    lines(quorum, "brokers", "unregister", "201", "--yes")
    quorum.wait_for(lambda image: 201 not in image.cluster.brokers)


def test_a_source_that_is_down_gets_no_throttle(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    extra = ExtraBroker(quorum, 202)
    lines(quorum, "topics", "create", "lost", "--assignment", "102:202")
    extra.fence()
    path = tmp_path / "plan.json"
    path.write_text(write_plan([Assignment("lost", 0, (102, 103), (102, 202))]))
    told = lines(quorum, "reassign", "apply", str(path), "--throttle", "1k")
    assert told[:2] == ["lost:0: 102,202 -> 102,103", "metashell reassign apply: down, so without a throttle: broker:202"]
    quorum.wait_for(lambda image: {(4, "102"), (4, "103")} == {key for key in configs(quorum) if key[0] == 4})
    assert configs(quorum)[2, "lost"]["leader.replication.throttled.replicas"] == "0:102"
    lines(quorum, "reassign", "cancel", str(path), "--throttle", "1k")
    lines(quorum, "topics", "delete", "lost", "--yes")
    lines(quorum, "brokers", "unregister", "202", "--yes")
    quorum.wait_for(lambda image: 202 not in image.cluster.brokers and not configs(quorum))


def test_what_brokers_cannot_say_is_an_error_and_a_deleted_topic_has_nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.cli.admin import configs as asked
    from metashell.cli.cluster.reassign_state import throttle_settings

    topic, broker, down = asked.Resource(2, "gone"), asked.Resource(4, "1"), asked.Resource(4, "3")
    error = MetashellError("broker:3: no answer")
    rate = asked.Setting(name="leader.replication.throttled.rate", value="7", source=2)
    answers = {topic: AdminError(UNKNOWN_TOPIC_OR_PARTITION, None, "topic:gone"), broker: (rate,), down: error}
    monkeypatch.setattr(asked, "describe_configs", lambda *_: answers)
    work = cast("Work", SimpleNamespace(asks_controllers=False, admin=None))
    assert throttle_settings(work, list(answers)) == {topic: {}, broker: {rate.name: "7"}, down: error}


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["plan", "--off", "x"], 2, "option --off: 'x' is not the id of a broker (give them as 3,4)"),
        (["plan", "--off", "3,3"], 2, "option --off: broker 3 is there twice"),
        (["plan", "--off", "55"], 1, "broker 55 is not registered and has no replica: the cluster has 101, 102, 103, 104"),
        (["plan", "--off", "101,102,103,104"], 1, "no broker can take replicas"),
        (["plan", "--even", "sizes"], 2, "option --even: 'sizes' is not one of topics, replicas, leaders or none"),
        (["plan", "--topic", "nope"], 1, "there is no topic nope"),
        (["plan", "-s", "x"], 2, "--snapshot and the address of a cluster exclude each other"),
        (["plan", "--sizes", "nope.json"], 1, "nope.json: No such file or directory"),
        (["apply", "nope.json"], 1, "nope.json: No such file or directory"),
        (["status", "--clear-throttle", "--throttle", "1k"], 2, "--throttle needs a plan beside --clear-throttle"),
        (["cancel"], 2, "name a plan or partitions (orders:0), or give --all"),
        (["cancel", "orders:0", "--all"], 2, "--all goes with nothing else"),
        (["cancel", "orders:0", "orders"], 2, "'orders' is no partition, and a plan stands alone: write orders:0 or orders:0,3"),
        (["cancel", "orders:0", "--throttle", "1k"], 2, "--throttle needs a plan"),
        (["status", "--throttle", "1k"], 2, "--throttle goes with --clear-throttle"),
        (["cancel", "--all", "--throttle", "1k"], 2, "--throttle needs a plan"),
    ],
)
def test_mistakes_are_one_line(quorum: EmbeddedQuorum, words: list[str], status: int, text: str) -> None:
    assert lines(quorum, "reassign", *words, status=status) == [f"metashell reassign {words[0]}: {text}"]


def test_a_plan_that_does_not_parse_is_shown(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"version": 1,\n "partitions": [}]}\n')
    told = lines(quorum, "reassign", "apply", str(path), status=2)
    assert told == [f"metashell reassign apply: {path}:2:17: expecting value", '     "partitions": [}]}', "                    ^"]


def test_a_plan_with_nothing_in_it_is_refused(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("\n")
    told = lines(quorum, "reassign", "apply", str(path), status=2)
    assert told == [f"metashell reassign apply: {path}: empty"]


def test_a_plan_is_read_from_standard_input(quorum: EmbeddedQuorum, plan: str) -> None:
    text = command(quorum, "reassign", "plan", "--off", "101", "--out", "-").stdout.decode()
    assert text == Path(plan).read_text()
    assert len(lines(quorum, "reassign", "apply", "-", "--dry-run", stdin=text)) == 5
