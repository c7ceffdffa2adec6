import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Reads properties files with java.util.Properties: one a line on standard input, its bytes in hexadecimal. For each a line is printed:
 * `bad`, or keys and values as hexadecimal UTF-16; then what Properties.store writes of each value by itself.
 */
public class LoadProperties {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.append(answer(HexFormat.of().parseHex(line))).append('\n');
        }
        System.out.print(out);
    }

    private static String answer(byte[] file) throws Exception {
        Properties loaded = new Properties();
        try {
            loaded.load(new ByteArrayInputStream(file));
        } catch (IllegalArgumentException e) {
            return "bad";
        }
        StringBuilder out = new StringBuilder();
        for (var entry : new TreeMap<>(loaded).entrySet()) {
            out.append(hex((String) entry.getKey())).append('=').append(hex((String) entry.getValue()));
            out.append('=').append(hex(stored((String) entry.getKey(), (String) entry.getValue()))).append(' ');
        }
        return out.toString().trim();
    }

    private static String stored(String key, String value) throws Exception {
        Properties one = new Properties();
        one.setProperty(key, value);
        StringWriter text = new StringWriter();
        one.store(text, null);
        return text.toString().replaceFirst("^#.*\\R", "").stripTrailing();
    }

    private static String hex(String text) {
        StringBuilder out = new StringBuilder();
        // Character by character: getBytes would replace half a surrogate pair.
        text.chars().forEach(unit -> out.append(String.format("%04x", unit)));
        return out.append('.').toString();
    }
}
