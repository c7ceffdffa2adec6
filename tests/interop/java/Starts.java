import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.server.common.MetadataVersion;
import scala.Option;

/**
 * Starts a real controller with each configuration whose path is a line of standard input, one after the other in one process, and
 * stops it. For each a line is printed: the path, `serves`, `ends` or `hangs`, and why (what it serves), separated by tabs. A controller serves once it is
 * the active one and has published what is committed; it ends where it asks to exit or halt, or where it throws; it hangs where it reads its log for ever. After one that hangs,
 * or a number of starts, the program ends: it has to be run again for the rest.
 */
public class Starts {
    private static final AtomicReference<String> ended = new AtomicReference<>();
    private static final List<Thread> stopping = new ArrayList<>();
    private static final long LIMIT_MS = 60_000;
    private static final long STOP_LIMIT_MS = 10_000;
    private static final int STARTS = 80;
    private static final long SAMPLE_MS = 500;
    private static final int SAMPLES = 8;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        takeExits();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ended.set(null);
            String answer = start(line);
            out.println(line + "\t" + answer.replace('\n', ' '));
            out.flush();
            // The thread of a server that hangs takes a core for itself, and one that ended keeps its memory.
            if (answer.startsWith("hangs") || stopping.size() == STARTS) {
                break;
            }
        }
        // A server is stopped while others start.
        long end = System.currentTimeMillis() + STOP_LIMIT_MS;
        for (Thread thread : stopping) {
            thread.join(Math.max(1, end - System.currentTimeMillis()));
        }
        Runtime.getRuntime().halt(0);
    }

    /** Exit is another class since 4.4. */
    private static void takeExits() throws Exception {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        } catch (ClassNotFoundException e) {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object taking = Proxy.newProxyInstance(Starts.class.getClassLoader(), new Class<?>[] {procedure}, (proxy, method, arguments) -> {
            ended.compareAndSet(null, "status " + arguments[0] + (arguments[1] == null ? "" : ": " + arguments[1]));
            throw new IllegalStateException("the server has ended");
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, taking);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, taking);
    }

    private static String start(String path) throws Exception {
        Properties properties = new Properties();
        try (FileReader reader = new FileReader(path)) {
            properties.load(reader);
        }
        KafkaRaftServer server;
        try {
            server = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
        } catch (Exception e) {
            return "ends\t" + e;
        }
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = daemon(() -> {
            try {
                server.startup();
            } catch (Throwable e) {
                thrown.set(e);
            }
        });
        String answer = watch(server, thread, thrown);
        Thread stop = daemon(server::shutdown);
        stopping.add(stop);
        if (answer.startsWith("ends")) {
            // What one thread of it ended over, another one may still meet: that must not be taken for the next server's end.
            stop.join(STOP_LIMIT_MS);
        }
        return answer;
    }

    private static String watch(KafkaRaftServer server, Thread thread, AtomicReference<Throwable> thrown) throws Exception {
        ControllerServer controller = controllerOf(server);
        AtomicReference<String> published = null;
        long begin = System.currentTimeMillis();
        long sampled = begin;
        int samples = 0;
        while (true) {
            if (ended.get() != null) {
                return "ends\t" + ended.get();
            } else if (thrown.get() != null) {
                return "ends\t" + thrown.get();
            } else if (published != null && published.get() != null) {
                return "serves\t" + published.get();
            } else if (published == null && !thread.isAlive() && controller.controller().isActive() && hasLoaded(controller)) {
                published = publish(controller);
            }
            long now = System.currentTimeMillis();
            if (now - sampled >= SAMPLE_MS) {
                sampled = now;
                samples = readsControlRecords(thread) ? samples + 1 : 0;
            }
            if (samples >= SAMPLES || now - begin > LIMIT_MS) {
                return "hangs\t";
            }
            Thread.sleep(5);
        }
    }

    /** Another thread loads what the active controller has replayed, and may end the server over it. */
    private static boolean hasLoaded(ControllerServer controller) {
        OptionalLong committed = controller.raftManager().client().highWatermark();
        return committed.isPresent() && controller.sharedServer().loader().lastAppliedOffset() >= committed.getAsLong() - 1;
    }

    /** The features and topics of the image, once the loader has shown it to a publisher that comes last: none before it ended the server. */
    private static AtomicReference<String> publish(ControllerServer controller) {
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
            if (element.getClassName().endsWith("KRaftControlRecordStateMachine")) {
                return true;
            }
        }
        return false;
    }

    @SuppressWarnings("unchecked")
    private static ControllerServer controllerOf(KafkaRaftServer server) throws Exception {
        Field field = KafkaRaftServer.class.getDeclaredField("controller");
        field.setAccessible(true);
        return ((Option<ControllerServer>) field.get(server)).get();
    }

    private static Thread daemon(Runnable runnable) {
        Thread thread = new Thread(() -> {
            try {
                runnable.run();
            } catch (Throwable e) {
                // A server that has ended cannot be stopped in order.
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
