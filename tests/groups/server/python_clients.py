"""What a client of Python gets from a group listener, as a JSON object. Each client runs in a process of its own, with its own path.

python python_clients.py confluent|kafka-python|aiokafka HOST:PORT"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

TOPIC = "t"


def error_of(work: Callable[[], Any]) -> str:
    """The name of the error that a call raises, "" for none."""
    try:
        work()
    except Exception as error:
        return type(error).__name__ if not error.args or not hasattr(error.args[0], "name") else str(error.args[0].name())
    return ""


def confluent(server: str) -> dict[str, Any]:
    made: Any = import_module("confluent_kafka")
    found: dict[str, Any] = {}

    def produce(is_idempotent: bool) -> None:
        producer = made.Producer({"bootstrap.servers": server, "enable.idempotence": is_idempotent, "log_level": 0})
        errors: list[Any] = []
        producer.produce(TOPIC, b"x", callback=lambda error, message: errors.append(error))
        while not errors:
            producer.poll(0.1)
        raise made.KafkaException(errors[0])

    found["plain"] = error_of(lambda: produce(False))
    found["idempotent"] = error_of(lambda: produce(True))
    consumer = made.Consumer({"bootstrap.servers": server, "group.id": "confluent", "log_level": 0})
    consumer.subscribe([TOPIC])
    while not consumer.assignment():
        message = consumer.poll(0.1)
        assert message is None, message.error()
    consumer.commit(offsets=[made.TopicPartition(TOPIC, 0, 5)], asynchronous=False)
    found["assigned"] = len(consumer.assignment())
    found["committed"] = consumer.committed([made.TopicPartition(TOPIC, 0)])[0].offset
    consumer.close()
    alone = made.Consumer({"bootstrap.servers": server, "group.id": "none", "client.id": "alone", "log_level": 0})
    alone.assign([made.TopicPartition(TOPIC, 0, 0)])
    message = None
    while message is None:
        message = alone.poll(0.1)
    found["alone"] = message.error().name()
    alone.close()
    return found


def kafka_python(server: str) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    kafka: Any = import_module("kafka")
    admin: Any = import_module("kafka.admin")
    is_old = kafka.__version__.startswith("2.0")
    partition = kafka.TopicPartition(TOPIC, 0)

    def produce(**settings: Any) -> None:
        kafka.KafkaProducer(bootstrap_servers=server, **settings).send(TOPIC, b"x").get()

    found: dict[str, Any] = {"plain": error_of(lambda: produce(**({} if is_old else {"enable_idempotence": False})))}
    if not is_old:
        found["idempotent"] = error_of(produce)
    consumer = kafka.KafkaConsumer(TOPIC, bootstrap_servers=server, group_id=f"python {kafka.__version__}", enable_auto_commit=False)
    while not consumer.assignment():
        assert not consumer.poll(timeout_ms=100)
    consumer.commit({partition: kafka.OffsetAndMetadata(5, "") if is_old else kafka.OffsetAndMetadata(5, "", -1)})
    found |= {"assigned": len(consumer.assignment()), "committed": consumer.committed(partition)}
    consumer.close()
    alone = kafka.KafkaConsumer(bootstrap_servers=server, client_id="alone", auto_offset_reset="earliest")
    alone.assign([partition])

    def poll() -> None:
        while True:
            alone.poll(timeout_ms=100)

    found["alone"] = error_of(poll)
    if is_old:
        configs = [admin.ConfigResource(admin.ConfigResourceType.TOPIC, TOPIC, {"retention.ms": "1234567"})]
        found["configs"] = kafka.KafkaAdminClient(bootstrap_servers=server).alter_configs(configs).resources[0][0]
    return found


async def aiokafka(server: str) -> dict[str, Any]:
    made: Any = import_module("aiokafka")
    found: dict[str, Any] = {}
    for name in ("plain", "idempotent"):
        producer = made.AIOKafkaProducer(bootstrap_servers=server, enable_idempotence=name == "idempotent")
        try:
            await producer.start()
            await producer.send_and_wait(TOPIC, b"x")
        except made.errors.KafkaError as error:
            found[name] = type(error).__name__
    consumer = made.AIOKafkaConsumer(TOPIC, bootstrap_servers=server, group_id="aiokafka", enable_auto_commit=False)
    await consumer.start()
    while not consumer.assignment():
        assert not await consumer.getmany(timeout_ms=100)
    partition = made.TopicPartition(TOPIC, 0)
    await consumer.commit({partition: 5})
    found |= {"assigned": len(consumer.assignment()), "committed": await consumer.committed(partition)}
    await consumer.stop()
    return found


def main(client: str, server: str) -> None:
    found = (
        asyncio.run(aiokafka(server)) if client == "aiokafka" else {"confluent": confluent, "kafka-python": kafka_python}[client](server)
    )
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
