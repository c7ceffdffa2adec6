import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import kafka.server.KafkaConfig;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Loads configurations as Kafka's storage tool does: one a line on standard input, its lines joined by U+001F. For each a line is
 * printed, `ok` with what formatting needs of it, or `no` with the exception's message.
 */
public class Configs {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Properties properties = new Properties();
            properties.load(new StringReader(line.replace('\u001f', '\n')));
            out.println(answer(properties));
        }
        out.flush();
    }

    private static String answer(Properties properties) {
        try {
            KafkaConfig config = new KafkaConfig(properties, false);
            var endpoints = CollectionConverters.asJava(config.effectiveAdvertisedControllerListeners());
            String first = endpoints.isEmpty() ? "none" : endpoints.get(0).host() + " " + endpoints.get(0).port();
            return String.join("\t", "ok", String.valueOf(config.nodeId()), String.join(",", config.logDirs()),
                config.metadataLogDir(), config.controllerListenerNames().get(0), first,
                String.join(",", config.quorumConfig().voters()), String.valueOf(config.unstableFeatureVersionsEnabled()));
        } catch (Exception e) {
            return "no\t" + String.valueOf(e.getMessage()).replace("\n", "\\n");
        }
    }
}
