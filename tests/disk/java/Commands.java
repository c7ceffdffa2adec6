import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import kafka.tools.StorageTool;

/** Runs command lines of Kafka's storage tool in one machine: one a line, its words joined by U+001F. None may be a usage error. */
public class Commands {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            String outcome;
            try {
                outcome = String.valueOf(StorageTool.execute(line.split("\u001f", -1), new PrintStream(printed, true, StandardCharsets.UTF_8)));
            } catch (Throwable e) {
                outcome = "1 " + e.getMessage();
            }
            Base64.Encoder text = Base64.getEncoder();
            System.out.println("@@" + text.encodeToString(printed.toByteArray()) + " " + text.encodeToString(outcome.getBytes(StandardCharsets.UTF_8)));
        }
    }
}
