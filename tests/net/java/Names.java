import java.io.DataInputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import javax.security.auth.x500.X500Principal;

/** Distinguished names in DER, as X500Principal writes them: one line each. */
public class Names {
    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (int count = in.readInt(); count > 0; count--) {
            byte[] bytes = new byte[in.readInt()];
            in.readFully(bytes);
            String name = new X500Principal(bytes).getName();
            out.println(name.replace("\n", "<n>").replace("\r", "<r>"));
        }
        out.flush();
    }
}
