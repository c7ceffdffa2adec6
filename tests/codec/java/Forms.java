// Answers lines of standard input with what Kafka's own classes print:
//   double BITS     Double.toString
//   text HEX        the JSON string of the UTF-8 bytes
//   record HEX      the JSON of a framed metadata record, or "error"
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import java.nio.ByteBuffer;

public class Forms {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 2);
            out.println(answer(words[0], words.length > 1 ? words[1] : ""));
        }
        out.flush();
    }

    static String answer(String what, String argument) {
        switch (what) {
            case "double":
                return Double.toString(Double.longBitsToDouble(Long.parseUnsignedLong(argument, 16)));
            case "text":
                return new TextNode(new String(HexFormat.of().parseHex(argument), StandardCharsets.UTF_8)).toString();
            default:
                return record(HexFormat.of().parseHex(argument));
        }
    }

    static String record(byte[] value) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(value);
            ApiMessageAndVersion read = new MetadataRecordSerde().read(new ByteBufferAccessor(buffer), value.length);
            return MetadataJsonConverters.writeJson(read.message(), read.version()).toString();
        } catch (Throwable error) {
            return "error";
        }
    }
}
