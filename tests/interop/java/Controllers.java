import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/**
 * Real controllers in one process, many at a time, each on its own configuration. A line of standard input is a command and the path of a
 * properties file, separated by a space; the answer is a line `path, tab, word, tab, text`, in any order:
 *
 * start: `serves` once it is the active controller and what is committed is published; `ends` where it asked to exit, or threw.
 * settle: `settled` once it leads, and its loader has published all that is committed; `ended` where it asked to exit or halt.
 * stop: `stopped` once it has shut down, gracefully.
 *
 * A controller that asks to exit or halt loses its listener, so that its clients see the end.
 */
public class Controllers {
    private static final long LIMIT_MS = 60_000;
    private static final Map<String, Running> running = new ConcurrentHashMap<>();
    private static final PrintStream out = System.out;

    private static class Running {
        final ThreadGroup group;
        volatile KafkaRaftServer server;
        volatile ControllerServer controller;
        volatile String ended;

        Running(String path) {
            group = new ThreadGroup(path);
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.Procedure procedure = (status, message) -> {
            end("status " + status + (message == null ? "" : ": " + message));
            throw new IllegalStateException("the server has ended");
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String command = line.substring(0, line.indexOf(' '));
            String path = line.substring(command.length() + 1);
            switch (command) {
                case "start" -> {
                    Running started = new Running(path);
                    running.put(path, started);
                    daemon(started.group, () -> answer(path, start(path, started)));
                }
                case "settle" -> daemon(null, () -> answer(path, settle(running.get(path))));
                case "stop" -> daemon(null, () -> answer(path, stop(running.remove(path))));
                default -> throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(String path, String answer) {
        synchronized (out) {
            out.println(path + "\t" + answer.replace('\n', ' '));
            out.flush();
        }
    }

    private static String start(String path, Running started) throws Exception {
        Properties properties = new Properties();
        try (FileReader reader = new FileReader(path)) {
            properties.load(reader);
        }
        try {
            started.server = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
            started.controller = controllerOf(started.server);
            started.server.startup();
        } catch (Throwable e) {
            return "ends\t" + e;
        }
        long end = System.currentTimeMillis() + LIMIT_MS;
        while (!leads(started.controller)) {
            if (started.ended != null || System.currentTimeMillis() > end) {
                return "ends\t" + (started.ended == null ? "it does not become active" : started.ended);
            }
            Thread.sleep(2);
        }
        return "serves\t";
    }

    private static String settle(Running settling) throws Exception {
        long end = System.currentTimeMillis() + LIMIT_MS;
        while (settling.ended == null && !leads(settling.controller) && System.currentTimeMillis() < end) {
            Thread.sleep(1);
        }
        return settling.ended == null ? "settled\t" : "ended\t" + settling.ended;
    }

    private static String stop(Running stopping) throws Exception {
        stopping.server.shutdown();
        return "stopped\t";
    }

    /** Whether it is the active controller, and another thread has published what is committed. */
    private static boolean leads(ControllerServer controller) {
        if (!controller.controller().isActive()) {
            return false;
        }
        OptionalLong committed = controller.raftManager().client().highWatermark();
        return committed.isPresent() && controller.sharedServer().loader().lastAppliedOffset() >= committed.getAsLong() - 1;
    }

    /** Note the end of the controller whose thread calls, and hang up on its clients. */
    private static void end(String why) {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        Running ending = running.get(group.getName());
        if (ending != null && ending.ended == null) {
            ending.ended = why;
            daemon(null, () -> ending.controller.socketServer().shutdown());
        }
    }

    @SuppressWarnings("unchecked")
    private static ControllerServer controllerOf(KafkaRaftServer server) throws Exception {
        Field field = KafkaRaftServer.class.getDeclaredField("controller");
        field.setAccessible(true);
        return ((Option<ControllerServer>) field.get(server)).get();
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void daemon(ThreadGroup group, Work work) {
        Thread thread = new Thread(group, () -> {
            try {
                work.run();
            } catch (Throwable e) {
                // A server that has ended cannot be stopped in order; who asked for it waits no longer than its own limit.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
