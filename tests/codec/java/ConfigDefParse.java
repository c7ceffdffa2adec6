import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

/** Reads lines "TYPE base64", the text of a setting; prints what ConfigDef makes of it: "ok VALUE" or "no MESSAGE", in base64. */
public class ConfigDefParse {
    public static void main(String[] args) {
        StringBuilder out = new StringBuilder();
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ", -1);
            String text = new String(Base64.getDecoder().decode(words[1]), StandardCharsets.UTF_8);
            String answer;
            try {
                answer = "ok " + shown(ConfigDef.parseType("key", text, ConfigDef.Type.valueOf(words[0])));
            } catch (ConfigException error) {
                answer = "no " + error.getMessage();
            }
            out.append(Base64.getEncoder().encodeToString(answer.getBytes(StandardCharsets.UTF_8))).append('\n');
        }
        System.out.print(out);
    }

    private static String shown(Object value) {
        if (value instanceof List)
            return ((List<?>) value).size() + " " + value;
        if (value instanceof Double)
            return value + " " + Long.toHexString(Double.doubleToRawLongBits((Double) value));
        return String.valueOf(value);
    }
}
