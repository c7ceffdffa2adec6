import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Base64;
import java.util.stream.Stream;

/**
 * Runs dump-log once for each line of standard input, its words between tabs, and answers a line for each: status, output and what it said
 * on stderr, the last two in base64. The folders of the files that a line names are copied anew from PRISTINE before it runs, since the
 * tool cuts and creates indexes.
 *
 *     java -Djava.security.manager=allow DumpLogs.java PRISTINE
 */
public class DumpLogs {
    private static final class Exit extends SecurityException {
        final int status;

        Exit(int status) {
            this.status = status;
        }
    }

    public static void main(String[] words) throws Exception {
        Path pristine = Paths.get(words[0]);
        PrintStream answers = System.out;
        PrintStream errors = System.err;
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkExit(int status) {
                throw new Exit(status);
            }

            @Override
            public void checkPermission(java.security.Permission permission) {
            }
        });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] argv = line.split("\t", -1);
            for (String word : argv)
                for (String file : word.split(","))
                    if (file.contains("/data/") && Files.isDirectory(pristine.resolve(file).getParent()))
                        copy(pristine, Paths.get(file).getParent());
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, "UTF-8"));
            System.setErr(new PrintStream(err, true, "UTF-8"));
            int status = run(argv);
            System.setErr(errors);
            Base64.Encoder base64 = Base64.getEncoder();
            answers.println(status + " " + base64.encodeToString(out.toByteArray()) + " " + base64.encodeToString(err.toByteArray()));
            answers.flush();
        }
        System.setSecurityManager(null);
        Runtime.getRuntime().halt(0);
    }

    private static int run(String[] argv) {
        try {
            org.apache.kafka.tools.DumpLogSegments.main(argv);
            return 0;
        } catch (Exit exit) {
            return exit.status;
        } catch (Throwable thrown) {
            System.err.print("Exception in thread \"main\" ");
            thrown.printStackTrace();
            return 1;
        } finally {
            System.out.flush();
        }
    }

    private static void copy(Path pristine, Path folder) throws Exception {
        if (Files.exists(folder))
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : (Iterable<Path>) files::iterator)
                    if (Files.isRegularFile(file))
                        Files.delete(file);
            }
        Files.createDirectories(folder);
        try (Stream<Path> files = Files.list(pristine.resolve(folder))) {
            for (Path file : (Iterable<Path>) files::iterator)
                if (Files.isRegularFile(file))
                    Files.copy(file, folder.resolve(file.getFileName()));
        }
    }
}
