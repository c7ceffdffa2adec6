import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Real consumers, each polling in a thread of its own. A line of standard input is an order:
 *
 * start NAME TOPICS KEY=VALUE..    subscribe NAME TOPICS    close NAME    commit NAME TOPIC PARTITION OFFSET    stall NAME MS
 *
 * Each callback, and what was done, is a line `NAME EVENT PARTITIONS OWNED GENERATION`: numbers of partitions that the callback was told,
 * and that were owned during it.
 *
 * Cooperative members give partitions up after a round and begin the next one. A member whose SyncGroup comes after that is told
 * REBALANCE_IN_PROGRESS, never hears of the round that ended, and claims what it had before: with a broker too, whichever is quicker.
 * So here they give partitions up together: such a callback returns when all members of the group have come to its generation.
 */
public class Members {
    private static final Duration POLL = Duration.ofMillis(20);

    private static final Map<String, Map<String, Integer>> ROUNDS = new HashMap<>();

    private static void reach(String group, String member, int generation) {
        synchronized (ROUNDS) {
            ROUNDS.computeIfAbsent(group, name -> new HashMap<>()).merge(member, generation, Math::max);
            ROUNDS.notifyAll();
        }
    }

    private static void leave(String group, String member) {
        synchronized (ROUNDS) {
            ROUNDS.get(group).remove(member);
            ROUNDS.notifyAll();
        }
    }

    private static void awaitOthers(String group, int generation) {
        synchronized (ROUNDS) {
            while (ROUNDS.get(group).values().stream().anyMatch(reached -> reached < generation)) {
                try {
                    ROUNDS.wait();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }
        }
    }

    private static synchronized void say(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        System.out.println(line);
        System.out.flush();
    }

    private static class Member implements Runnable, ConsumerRebalanceListener {
        private final String name;
        private final String group;
        private final boolean isCooperative;
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final ConcurrentLinkedQueue<String[]> orders = new ConcurrentLinkedQueue<>();

        Member(String name, Properties settings) {
            this.name = name;
            group = settings.getProperty("group.id");
            isCooperative = settings.getProperty("partition.assignment.strategy", "").endsWith(".CooperativeStickyAssignor");
            reach(group, name, -1);
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        private void tell(String event, Collection<TopicPartition> partitions) {
            int generation = consumer.groupMetadata().generationId();
            say(name, event, partitions.size(), consumer.assignment().size(), generation);
            reach(group, name, generation);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("revoked", partitions);
            if (isCooperative) {
                awaitOthers(group, consumer.groupMetadata().generationId());
            }
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", partitions);
        }

        @Override
        public void run() {
            try {
                for (;;) {
                    for (String[] order; (order = orders.poll()) != null; ) {
                        switch (order[0]) {
                            case "subscribe" -> consumer.subscribe(List.of(order[2].split(",")), this);
                            case "commit" -> {
                                TopicPartition partition = new TopicPartition(order[2], Integer.parseInt(order[3]));
                                consumer.commitSync(Map.of(partition,
                                    new org.apache.kafka.clients.consumer.OffsetAndMetadata(Long.parseLong(order[4]))));
                                say(name, "committed", consumer.committed(java.util.Set.of(partition)).get(partition).offset());
                            }
                            case "stall" -> {
                                say(name, "stalls");
                                Thread.sleep(Long.parseLong(order[2]));
                                say(name, "polls");
                            }
                            default -> {
                                consumer.close();
                                leave(group, name);
                                say(name, "closed");
                                return;
                            }
                        }
                    }
                    consumer.poll(POLL);
                }
            } catch (Throwable error) {
                leave(group, name);
                say(name, "failed", error.getClass().getSimpleName());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, Member> members = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (!words[0].equals("start")) {
                members.get(words[1]).orders.add(words);
                continue;
            }
            Properties settings = new Properties();
            settings.put("bootstrap.servers", args[0]);
            settings.put("client.id", words[1]);
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            settings.put("retry.backoff.ms", "20");
            for (int at = 3; at < words.length; at++) {
                String[] pair = words[at].split("=", 2);
                settings.put(pair[0], pair[1]);
            }
            Member member = new Member(words[1], settings);
            members.put(words[1], member);
            member.orders.add(new String[] {"subscribe", words[1], words[2]});
            Thread thread = new Thread(member, words[1]);
            thread.setDaemon(true);
            thread.start();
        }
        System.exit(0);
    }
}
