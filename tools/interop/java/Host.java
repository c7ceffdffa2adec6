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
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.Permission;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Servers and command line tools of Kafka in one process: one in a process of its own takes a second of a processor to start.
 *
 * Requests are JSON objects, one a line, on standard input; each is answered by one line on standard output. Servers.java has those that
 * are about servers. Bytes are texts of Latin-1.
 *   {"do": "run", "class": C, "classes": FOLDER or "", "args": [..], "stdin": BYTES}
 *       run C.main, of the class path or of a folder: {"status": N, "stdout": BYTES, "stderr": BYTES}; N is null where it does not end
 *   {"do": "exit"}     end in order, for who keeps what was loaded
 * A request that fails is answered {"error": TEXT}. With the word `tools` on its command line it also takes System.exit for the end of a
 * tool; servers would be slower with that.
 */
public class Host {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long LIMIT_MS = 240_000;
    static final PrintStream LOG = System.err;
    static final Map<ThreadGroup, Run> RUNS = new ConcurrentHashMap<>();

    /** What an exit throws, where a tool's process would end. */
    static class Ended extends SecurityException {
    }

    /** What belongs together: all threads that a tool or server starts print here, until the first of them calls for the end. */
    static class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        InputStream in = InputStream.nullInputStream();
        Integer status;
        String message;

        synchronized void write(boolean isErr, byte[] bytes, int offset, int length) {
            if (status == null) (isErr ? err : out).write(bytes, offset, length);
        }

        synchronized boolean end(int with, String why) {
            if (status != null) return false;
            status = with;
            message = why;
            return true;
        }
    }

    /** The run that the current thread belongs to, null if it is none's. */
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

    static class RoutedInput extends InputStream {
        @Override
        public int read() throws java.io.IOException {
            Run run = current();
            return run == null ? -1 : run.in.read();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws java.io.IOException {
            Run run = current();
            return run == null ? -1 : run.in.read(bytes, offset, length);
        }
    }

    static void end(int status, String message) {
        Run run = current();
        if (run == null) {
            LOG.println("the process ends with " + status + ": " + message);
            Runtime.getRuntime().halt(status);
        }
        run.end(status, message);
        throw new Ended();
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(new Routed(false), true));
        System.setErr(new PrintStream(new Routed(true), true));
        System.setIn(new RoutedInput());
        takeExits();
        if (args.length > 0) catchExit();
        String line;
        while ((line = requests.readLine()) != null) {
            ObjectNode answer = JSON.createObjectNode();
            JsonNode request = JSON.readTree(line);
            if (request.get("do").asText().equals("exit")) {
                System.exit(0);
            }
            try {
                if (request.get("do").asText().equals("run")) run(request, answer);
                else Class.forName("Servers").getMethod("handle", JsonNode.class, ObjectNode.class).invoke(null, request, answer);
            } catch (Throwable problem) {
                Throwable cause = problem instanceof InvocationTargetException ? problem.getCause() : problem;
                cause.printStackTrace(LOG);
                answer.put("error", cause.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Kafka's own way to exit is another class since 4.4; its argument parser calls System.exit, which Java lets nobody catch since 24. */
    static void takeExits() throws Exception {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        } catch (ClassNotFoundException e) {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object taking = Proxy.newProxyInstance(Host.class.getClassLoader(), new Class<?>[] {procedure}, (proxy, method, arguments) -> {
            end((Integer) arguments[0], (String) arguments[1]);
            return null;
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, taking);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, taking);
    }

    @SuppressWarnings("removal")
    static void catchExit() {
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkExit(int status) {
                if (current() != null) end(status, null);
            }

            @Override
            public void checkPermission(Permission permission) {
            }
        });
    }

    static List<String> words(JsonNode node) {
        List<String> found = new ArrayList<>();
        node.forEach(word -> found.add(word.asText()));
        return found;
    }

    static void run(JsonNode request, ObjectNode answer) throws Exception {
        ThreadGroup group = new ThreadGroup("run");
        Run run = new Run();
        run.in = new ByteArrayInputStream(request.path("stdin").asText("").getBytes(StandardCharsets.ISO_8859_1));
        RUNS.put(group, run);
        Object arguments = words(request.get("args")).toArray(new String[0]);
        String folder = request.path("classes").asText("");
        ClassLoader loader = Host.class.getClassLoader();
        if (!folder.isEmpty()) loader = new URLClassLoader(new URL[] {Path.of(folder).toUri().toURL()}, loader);
        Class<?> tool = Class.forName(request.get("class").asText(), true, loader);
        Thread thread = new Thread(group, () -> {
            try {
                tool.getMethod("main", String[].class).invoke(null, arguments);
                System.out.flush();
                run.end(0, null);
            } catch (InvocationTargetException problem) {
                if (!(problem.getCause() instanceof Ended)) {
                    System.err.print("Exception in thread \"main\" ");
                    problem.getCause().printStackTrace();
                }
                run.end(1, null);
            } catch (ReflectiveOperationException problem) {
                problem.printStackTrace(LOG);
            }
        }, "main");
        thread.start();
        thread.join(LIMIT_MS);
        RUNS.remove(group);
        synchronized (run) {
            answer.put("status", run.status);
            answer.put("stdout", run.out.toString(StandardCharsets.ISO_8859_1));
            answer.put("stderr", run.err.toString(StandardCharsets.ISO_8859_1));
        }
    }
}
