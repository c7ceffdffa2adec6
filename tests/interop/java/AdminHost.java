import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import kafka.server.BrokerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;

/**
 * Servers and command line tools of Kafka in one process: one in a process of its own takes seconds to start.
 *
 * Requests are JSON objects, one a line, on standard input; each is answered by one line on standard output.
 *   {"do": "start", "configs": [FILE, ..]}           start nodes together, and wait until each may serve
 *   {"do": "stop", "id": N}                          shut one down as a signal does
 *   {"do": "run", "class": C, "args": [..], "stdin": TEXT}     run C.main: {"status": N, "stdout": TEXT, "stderr": TEXT}
 *   {"do": "settle", "controllers": "HOST:PORT,..", "config": FILE or ""}   wait until every broker here has applied what is committed now
 *   {"do": "moved", "brokers": "HOST:PORT,.."}       wait until no reassignment is under way
 *   {"do": "joined", "brokers": ..., "topic": T}     wait until every replica of a topic is in its ISR
 * A request that fails is answered {"error": TEXT}.
 */
public class AdminHost {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long LIMIT_MS = 60_000;
    static final Map<Integer, KafkaRaftServer> NODES = new TreeMap<>();
    static final Map<ThreadGroup, Run> RUNS = new java.util.concurrent.ConcurrentHashMap<>();

    /** What `exit` throws, where a tool's process would end. */
    static class Ended extends Error {
    }

    /** One run of a tool: what all of its threads print, until the first of them calls for the end. */
    static class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        InputStream in = InputStream.nullInputStream();
        Integer status;

        synchronized void write(boolean isErr, byte[] bytes, int offset, int length) {
            if (status == null) (isErr ? err : out).write(bytes, offset, length);
        }

        synchronized void end(int with) {
            if (status == null) status = with;
        }
    }

    /** The run that the current thread belongs to. */
    static Run current() {
        for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
            Run run = RUNS.get(group);
            if (run != null) return run;
        }
        return null;
    }

    static class Routed extends OutputStream {
        final boolean isErr;

        Routed(boolean isErr) {
            this.isErr = isErr;
        }

        @Override
        public void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            Run run = current();
            if (run != null) run.write(isErr, bytes, offset, length);
            else LOG.write(bytes, offset, length);
        }
    }

    static final PrintStream LOG = System.err;

    static void end(int status, String message) {
        Run run = current();
        if (run == null) {
            LOG.println("the process ends with " + status + ": " + message);
            Runtime.getRuntime().halt(status);
        }
        run.end(status);
        throw new Ended();
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(new Routed(false), true));
        System.setErr(new PrintStream(new Routed(true), true));
        System.setIn(new InputStream() {
            @Override
            public int read() throws java.io.IOException {
                Run run = current();
                return run == null ? -1 : run.in.read();
            }
        });
        Exit.setExitProcedure(AdminHost::end);
        Exit.setHaltProcedure(AdminHost::end);
        String line;
        while ((line = requests.readLine()) != null) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                handle(JSON.readTree(line), answer);
            } catch (Throwable problem) {
                problem.printStackTrace(LOG);
                answer.put("error", problem.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static void handle(JsonNode request, ObjectNode answer) throws Exception {
        switch (request.get("do").asText()) {
            case "start" -> start(words(request.get("configs")));
            case "stop" -> NODES.remove(request.get("id").asInt()).shutdown();
            case "run" -> run(request, answer);
            case "settle" -> settle(request.get("controllers").asText(), request.get("config").asText());
            case "moved" -> moved(request.get("brokers").asText());
            case "joined" -> joined(request.get("brokers").asText(), request.get("topic").asText());
            default -> throw new IllegalArgumentException(request.toString());
        }
    }

    static List<String> words(JsonNode node) {
        List<String> found = new ArrayList<>();
        node.forEach(word -> found.add(word.asText()));
        return found;
    }

    static void start(List<String> paths) throws Exception {
        List<CompletableFuture<Void>> starting = new ArrayList<>();
        for (String path : paths) {
            Properties settings = Utils.loadProps(path);
            KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
            NODES.put(Integer.parseInt(settings.getProperty("node.id")), server);
            starting.add(CompletableFuture.runAsync(server::startup, task -> new Thread(task).start()));
        }
        for (CompletableFuture<Void> one : starting) one.get();
    }

    static void run(JsonNode request, ObjectNode answer) throws Exception {
        ThreadGroup group = new ThreadGroup("run");
        Run run = new Run();
        run.in = new ByteArrayInputStream(request.path("stdin").asText("").getBytes(StandardCharsets.UTF_8));
        RUNS.put(group, run);
        Object arguments = words(request.get("args")).toArray(new String[0]);
        Class<?> tool = Class.forName(request.get("class").asText());
        Thread thread = new Thread(group, () -> {
            try {
                tool.getMethod("main", String[].class).invoke(null, arguments);
                run.end(0);
            } catch (InvocationTargetException problem) {
                if (!(problem.getCause() instanceof Ended)) problem.getCause().printStackTrace();
                run.end(1);
            } catch (ReflectiveOperationException problem) {
                problem.printStackTrace(LOG);
            }
        }, "main");
        thread.start();
        thread.join(LIMIT_MS);
        synchronized (run) {
            answer.put("status", run.status);
            answer.put("stdout", run.out.toString(StandardCharsets.UTF_8));
            answer.put("stderr", run.err.toString(StandardCharsets.UTF_8));
        }
    }

    static Object field(Object of, String name) throws ReflectiveOperationException {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    static void settle(String controllers, String config) throws Exception {
        Properties settings = config.isEmpty() ? new Properties() : Utils.loadProps(config);
        settings.put("bootstrap.controllers", controllers);
        long committed;
        try (Admin admin = Admin.create(settings)) {
            committed = admin.describeMetadataQuorum().quorumInfo().get().highWatermark() - 1;
        }
        long limit = System.currentTimeMillis() + LIMIT_MS;
        for (KafkaRaftServer server : NODES.values()) {
            scala.Option<?> found = (scala.Option<?>) field(server, "broker");
            if (found.isEmpty()) continue;
            BrokerServer broker = (BrokerServer) found.get();
            while (broker.sharedServer().loader().lastAppliedOffset() < committed) {
                if (System.currentTimeMillis() > limit) throw new IllegalStateException("a broker does not reach " + committed);
                Thread.sleep(2);
            }
        }
    }

    static void moved(String brokers) throws Exception {
        long limit = System.currentTimeMillis() + LIMIT_MS;
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
            while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) {
                if (System.currentTimeMillis() > limit) throw new IllegalStateException("a reassignment does not end");
                Thread.sleep(20);
            }
        }
    }

    static void joined(String brokers, String topic) throws Exception {
        long limit = System.currentTimeMillis() + LIMIT_MS;
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
            while (admin.describeTopics(List.of(topic)).topicNameValues().get(topic).get().partitions().stream().anyMatch(
                    partition -> partition.isr().size() < partition.replicas().size())) {
                if (System.currentTimeMillis() > limit) throw new IllegalStateException(topic + ": replicas do not join the ISR");
                Thread.sleep(20);
            }
        }
    }
}
