import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.metadata.storage.ScramParser;
import org.apache.kafka.raft.DynamicVoters;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Parses words as Kafka's storage tool does: a line holds what it is (voters, scram, release), a blank, and the word. */
public class Parsers {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            int blank = line.indexOf(' ');
            try {
                out.println("ok\t" + parse(line.substring(0, blank), line.substring(blank + 1)));
            } catch (Exception e) {
                out.println("no\t" + e.getMessage());
            }
        }
        out.flush();
    }

    private static String stored(VotersRecord.Voter voter) {
        VotersRecord.Endpoint endpoint = voter.endpoints().iterator().next();
        String host = endpoint.host().contains(":") ? "[" + endpoint.host() + "]" : endpoint.host();
        return voter.voterId() + "@" + host + ":" + endpoint.port() + ":" + voter.voterDirectoryId();
    }

    @SuppressWarnings("unchecked")
    private static UserScramCredentialRecord scram(String word) throws Exception {
        Method parse = ScramParser.class.getDeclaredMethod("parse", List.class);
        parse.setAccessible(true);
        try {
            return (UserScramCredentialRecord) ((List<ApiMessageAndVersion>) parse.invoke(null, List.of(word))).get(0).message();
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }

    private static String parse(String kind, String word) throws Exception {
        switch (kind) {
            case "voters":
                return String.join(",", DynamicVoters.parse(word).toVoterSet("X").toVotersRecord((short) 0).voters().stream()
                    .map(Parsers::stored).toList());
            case "release":
                return MetadataVersion.fromVersionString(word, false).toString();
            default:
                UserScramCredentialRecord record = scram(word);
                Base64.Encoder text = Base64.getEncoder();
                return String.join("\t", record.name(), String.valueOf(record.mechanism()), text.encodeToString(record.salt()),
                    text.encodeToString(record.storedKey()), text.encodeToString(record.serverKey()), String.valueOf(record.iterations()));
        }
    }
}
