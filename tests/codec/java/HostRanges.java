import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.server.authorizer.internals.CidrUtils;

/** For each line HOST, tab, ADDRESS: what Kafka says about the host, and whether it holds the address. */
public class HostRanges {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            String error = "";
            try {
                CidrUtils.validate(words[0]);
            } catch (IllegalArgumentException e) {
                error = e.getMessage();
            }
            out.append(error).append('\t').append(CidrUtils.isInRange(words[1], words[0])).append('\n');
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
