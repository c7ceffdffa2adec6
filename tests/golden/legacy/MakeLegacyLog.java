import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;

/** "FILE": a log of messages of magic 0 and 1, compressed and not, as Kafka's own builder writes them. */
public class MakeLegacyLog {
    static long offset = 0;

    public static void main(String[] args) throws Exception {
        try (FileChannel log = FileChannel.open(Path.of(args[0]), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (byte magic = 0; magic <= 1; magic++) {
                for (String codec : new String[] {"none", "gzip", "snappy", "lz4"}) {
                    log.write(messages(magic, codec, TimestampType.CREATE_TIME));
                }
            }
            log.write(messages((byte) 1, "gzip", TimestampType.LOG_APPEND_TIME));
            log.write(messages((byte) 1, "none", TimestampType.LOG_APPEND_TIME));
        }
    }

    static ByteBuffer messages(byte magic, String codec, TimestampType type) {
        Compression compression = Compression.of(CompressionType.forName(codec)).build();
        if (magic == 0) {
            type = TimestampType.NO_TIMESTAMP_TYPE;
        }
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1024), magic, compression, type, offset, 1700000000000L);
        for (int i = 0; i < 3; i++) {
            long timestamp = magic == 0 ? -1 : 1600000000000L + offset;
            byte[] key = i == 0 ? null : ("key-" + offset).getBytes();
            byte[] value = i == 2 ? null : ("value-" + offset).getBytes();
            builder.appendWithOffset(offset, timestamp, key, value);
            offset += i == 1 ? 2 : 1;
        }
        return builder.build().buffer();
    }
}
