import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** Standard input through Kafka's own compression: "pack CODEC MAGIC" or "unpack CODEC MAGIC". */
public class Pack {
    public static void main(String[] args) throws Exception {
        byte[] data = System.in.readAllBytes();
        Compression compression = Compression.of(CompressionType.forName(args[1])).build();
        byte magic = Byte.parseByte(args[2]);
        if (args[0].equals("pack")) {
            ByteBufferOutputStream out = new ByteBufferOutputStream(1024);
            try (OutputStream packed = compression.wrapForOutput(out, magic)) {
                packed.write(data);
            }
            out.buffer().flip();
            byte[] bytes = new byte[out.buffer().remaining()];
            out.buffer().get(bytes);
            System.out.write(bytes);
        } else {
            try (InputStream unpacked = compression.wrapForInput(ByteBuffer.wrap(data), magic, BufferSupplier.create())) {
                System.out.write(unpacked.readAllBytes());
            }
        }
        System.out.flush();
    }
}
