import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileReader;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.server.common.MetadataVersion;
import scala.Option;

/**
 * What a Host is asked about servers.
 *
 * Nodes that live as long as the process, which ends when one of them does:
 *   {"do": "start", "configs": [FILE, ..]}           start nodes together, and wait until each may serve
 *   {"do": "stop", "id": N}                          shut one down as a signal does
 *   {"do": "settle", "controllers": "HOST:PORT,..", "config": FILE or ""}   wait until every broker here has applied what is committed now
 *   {"do": "moved", "brokers": "HOST:PORT,.."}       wait until no reassignment is under way
 *   {"do": "joined", "brokers": ..., "topic": T}     wait until every replica of a topic is in its ISR
 *
 * Lone controllers, many at a time, each named by its configuration, which may end; the answer is {"did": WORD, "why": TEXT}:
 *   {"do": "lead", "config": FILE}       start one. `serves`: it is active and has published what is committed; why says what. `ends`: it asked
 *                                        to exit, or threw; "said" has what it printed. `hangs`: it reads its log for ever
 *   {"do": "published", "config": FILE}  `serves` once it leads and has published what is committed; `ends` where it has ended
 *   {"do": "leave", "config": FILE, "waits": BOOLEAN}    shut it down
 * One that asks to exit loses its listener, so that its clients see the end.
 */
public class Servers {
    private static final long LIMIT_MS = 180_000;
    private static final long SAMPLE_NS = 50_000_000;
    private static final int SAMPLES = 8;
    private static final Map<Integer, KafkaRaftServer> NODES = new TreeMap<>();
    private static final Map<String, Lone> LONE = new ConcurrentHashMap<>();

    public static void handle(JsonNode request, ObjectNode answer) throws Exception {
        String config = request.path("config").asText("");
        switch (request.get("do").asText()) {
            case "start" -> start(Host.words(request.get("configs")));
            case "stop" -> NODES.remove(request.get("id").asInt()).shutdown();
            case "settle" -> settle(request.get("controllers").asText(), config);
            case "moved" -> moved(request.get("brokers").asText());
            case "joined" -> joined(request.get("brokers").asText(), request.get("topic").asText());
            case "lead" -> {
                LONE.put(config, new Lone(config));
                LONE.get(config).lead(answer);
            }
            case "published" -> LONE.get(config).published(answer);
            case "leave" -> LONE.remove(config).leave(request.get("waits").asBoolean());
            default -> throw new IllegalArgumentException(request.toString());
        }
    }

    private interface Check {
        boolean holds() throws Exception;
    }

    private static void waitUntil(String what, int pauseMs, Check check) throws Exception {
        long limit = System.currentTimeMillis() + LIMIT_MS;
        while (!check.holds()) {
            if (System.currentTimeMillis() > limit) throw new IllegalStateException("not in time: " + what);
            Thread.sleep(pauseMs);
        }
    }

    private static Properties load(String path) throws Exception {
        Properties settings = new Properties();
        if (!path.isEmpty()) {
            try (FileReader reader = new FileReader(path)) {
                settings.load(reader);
            }
        }
        return settings;
    }

    private static void start(List<String> paths) throws Exception {
        List<CompletableFuture<Void>> starting = new ArrayList<>();
        for (String path : paths) {
            Properties settings = load(path);
            KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
            NODES.put(Integer.parseInt(settings.getProperty("node.id")), server);
            starting.add(CompletableFuture.runAsync(server::startup, task -> new Thread(task).start()));
        }
        for (CompletableFuture<Void> one : starting) one.get();
    }

    @SuppressWarnings("unchecked")
    private static <T> Option<T> part(KafkaRaftServer server, String name) throws ReflectiveOperationException {
        Field field = KafkaRaftServer.class.getDeclaredField(name);
        field.setAccessible(true);
        return (Option<T>) field.get(server);
    }

    private static void settle(String controllers, String config) throws Exception {
        Properties settings = load(config);
        settings.put("bootstrap.controllers", controllers);
        long committed;
        try (Admin admin = Admin.create(settings)) {
            committed = admin.describeMetadataQuorum().quorumInfo().get().highWatermark() - 1;
        }
        for (KafkaRaftServer server : NODES.values()) {
            Option<BrokerServer> broker = part(server, "broker");
            if (broker.isEmpty()) continue;
            waitUntil("a broker reaches " + committed, 2, () -> broker.get().sharedServer().loader().lastAppliedOffset() >= committed);
        }
    }

    private static void moved(String brokers) throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", brokers))) {
            waitUntil("reassignments end", 20, () -> admin.listPartitionReassignments().reassignments().get().isEmpty());
        }
    }

    private static void joined(String brokers, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", brokers))) {
            waitUntil("replicas of " + topic + " join the ISR", 20, () -> admin.describeTopics(List.of(topic)).topicNameValues().get(topic)
                .get().partitions().stream().allMatch(partition -> partition.isr().size() == partition.replicas().size()));
        }
    }

    /** A lone controller. Its threads are a group, so that it is known whose an exit is. */
    private static class Lone extends Host.Run {
        private final String path;
        private final ThreadGroup group;
        private KafkaRaftServer server;
        private ControllerServer controller;

        Lone(String path) {
            this.path = path;
            group = new ThreadGroup(path);
            Host.RUNS.put(group, this);
        }

        @Override
        synchronized boolean end(int with, String why) {
            boolean isFirst = super.end(with, "status " + with + (why == null ? "" : ": " + why));
            if (isFirst && controller != null) daemon(null, () -> controller.socketServer().shutdown());
            return isFirst;
        }

        void lead(ObjectNode answer) throws Exception {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread thread = daemon(group, () -> {
                try {
                    server = new KafkaRaftServer(KafkaConfig.fromProps(load(path)), Time.SYSTEM);
                    controller = Servers.<ControllerServer>part(server, "controller").get();
                    server.startup();
                } catch (Throwable e) {
                    thrown.set(e);
                }
            });
            AtomicReference<String> published = null;
            long begin = System.currentTimeMillis();
            long sampled = 0;
            int samples = 0;
            while (true) {
                if (status != null) {
                    tell(answer, "ends", message);
                    break;
                } else if (thrown.get() != null) {
                    tell(answer, "ends", thrown.get().toString());
                    break;
                } else if (published != null && published.get() != null) {
                    tell(answer, "serves", published.get());
                    break;
                } else if (published == null && !thread.isAlive() && leads()) {
                    published = publish();
                }
                // By the thread's own time: on a busy machine a reader that gets no turn does not hang.
                long used = ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId());
                if (used - sampled >= SAMPLE_NS) {
                    sampled = used;
                    samples = readsControlRecords(thread) ? samples + 1 : 0;
                }
                if (samples >= SAMPLES || System.currentTimeMillis() - begin > LIMIT_MS) {
                    tell(answer, "hangs", "");
                    break;
                }
                Thread.sleep(2);
            }
        }

        void published(ObjectNode answer) throws Exception {
            waitUntil("it leads", 1, () -> status != null || leads());
            tell(answer, status == null ? "serves" : "ends", message);
        }

        void leave(boolean waits) throws Exception {
            Thread stopping = daemon(group, () -> server.shutdown());
            if (waits) stopping.join(LIMIT_MS);
        }

        private void tell(ObjectNode answer, String did, String why) {
            answer.put("did", did);
            answer.put("why", why == null ? "" : why.replace('\n', ' '));
            answer.put("said", out.toString(StandardCharsets.UTF_8));
        }

        /** Whether it is active, and another thread has loaded what it has replayed, which may end the server over it. */
        private boolean leads() {
            if (!controller.controller().isActive()) return false;
            OptionalLong committed = controller.raftManager().client().highWatermark();
            return committed.isPresent() && controller.sharedServer().loader().lastAppliedOffset() >= committed.getAsLong() - 1;
        }

        /** The features and topics of the image, once the loader has shown it to a publisher that comes last: none before it ended the server. */
        private AtomicReference<String> publish() {
            AtomicReference<String> published = new AtomicReference<>();
            controller.sharedServer().loader().installPublishers(List.of(new MetadataPublisher() {
                @Override
                public String name() {
                    return "last";
                }

                @Override
                public void onMetadataUpdate(MetadataDelta delta, MetadataImage image, LoaderManifest manifest) {
                    Object found = image.features().metadataVersion();
                    Object version = found instanceof Optional<?> optional ? optional.orElse(null) : found; // optional since 4.0
                    String level = version == null ? "none" : ((MetadataVersion) version).featureLevel() + "";
                    published.set(new TreeMap<>(image.features().finalizedVersions()) + " metadata.version=" + level + " "
                        + new TreeSet<>(image.topics().topicsByName().keySet()));
                }
            }));
            return published;
        }

        private static boolean readsControlRecords(Thread thread) {
            for (StackTraceElement element : thread.getStackTrace()) {
                if (element.getClassName().endsWith("KRaftControlRecordStateMachine")) return true;
            }
            return false;
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static Thread daemon(ThreadGroup group, Work work) {
        Thread thread = new Thread(group, () -> {
            try {
                work.run();
            } catch (Throwable e) {
                // A server that has ended cannot be stopped in order; who asked for it waits no longer than its own limit.
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
