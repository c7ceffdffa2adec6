import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.PatternSyntaxException;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** What Kafka's mapper of certificates' names makes of rules and names: one line for each rule text, and for each of its names. */
public class Rules {
    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (int count = in.readInt(); count > 0; count--) {
            SslPrincipalMapper mapper = null;
            try {
                mapper = SslPrincipalMapper.fromRules(read(in));
                out.println("rules");
            } catch (PatternSyntaxException e) {
                out.println("pattern");
            } catch (Exception e) {
                out.println("refused " + line(e.getMessage()));
            }
            for (int names = in.readInt(); names > 0; names--) {
                String name = read(in);
                if (mapper != null)
                    out.println(answer(mapper, name));
            }
        }
        out.flush();
    }

    static String answer(SslPrincipalMapper mapper, String name) {
        try {
            return "name " + line(mapper.getName(name));
        } catch (IOException e) {
            return "none " + line(e.getMessage());
        } catch (Exception e) {
            return "wrong";
        }
    }

    static String read(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static String line(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r");
    }
}
