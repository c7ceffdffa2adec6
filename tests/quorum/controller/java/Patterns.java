import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Reads expressions in base64, one a line; prints "ok", or "no" and why not. */
public class Patterns {
    public static void main(String[] args) {
        StringBuilder out = new StringBuilder();
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        while (in.hasNextLine()) {
            String text = new String(Base64.getDecoder().decode(in.nextLine()), StandardCharsets.UTF_8);
            try {
                Pattern.compile(text);
                out.append("ok\n");
            } catch (PatternSyntaxException error) {
                out.append("no ").append(error.getDescription().replace('\n', ' ')).append('\n');
            }
        }
        System.out.print(out);
    }
}
