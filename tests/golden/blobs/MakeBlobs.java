import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/** Blobs that group members send each other, one a line: kind, version, hex. Written by Kafka's own classes. */
public class MakeBlobs {
    static void print(String kind, int version, ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        System.out.println(kind + " " + version + " " + HexFormat.of().formatHex(bytes));
    }

    public static void main(String[] args) throws Exception {
        consumers();
        streams();
        connect();
    }

    static void consumers() throws Exception {
        TopicPartition owned = new TopicPartition("orders", 3);
        var subscription = new ConsumerPartitionAssignor.Subscription(
            List.of("orders", "b\u00e9"), ByteBuffer.wrap(new byte[] {1, 2}), List.of(owned), 7, Optional.of("rack-1"));
        var assignment = new ConsumerPartitionAssignor.Assignment(List.of(owned, new TopicPartition("orders", 1)), ByteBuffer.wrap(new byte[] {5}));
        for (short version = 0; version <= 3; version++) {
            print("consumer-subscription", version, ConsumerProtocol.serializeSubscription(subscription, version));
            print("consumer-assignment", version, ConsumerProtocol.serializeAssignment(assignment, version));
        }
        Method sticky = StickyAssignor.class.getDeclaredMethod("serializeTopicPartitionAssignment", MemberData.class);
        sticky.setAccessible(true);
        print("sticky", 1, (ByteBuffer) sticky.invoke(null, new MemberData(List.of(owned), Optional.of(4))));
        print("sticky", 1, (ByteBuffer) sticky.invoke(null, new MemberData(List.of(), Optional.of(-1))));
        CooperativeStickyAssignor cooperative = new CooperativeStickyAssignor();
        cooperative.onAssignment(assignment, new org.apache.kafka.clients.consumer.ConsumerGroupMetadata("g", 6, "m", Optional.empty()));
        print("cooperative-sticky", 0, cooperative.subscriptionUserData(Set.of("orders")));
    }

    static void streams() {
        UUID process = new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L);
        for (int version = 1; version <= 11; version++) {
            String topology = version >= 10 ? "t\u00e9\ud83d\ude00" : null;
            Map<TaskId, Long> sums = new LinkedHashMap<>();
            sums.put(new TaskId(0, 1, topology), -2L);
            sums.put(new TaskId(1, 0, topology), 77L);
            sums.put(topology == null ? new TaskId(2, 2) : new TaskId(2, 2, topology), -2L);
            Map<String, String> tags = new LinkedHashMap<>();
            tags.put("zone", "\u00e9u-1");
            print("streams-subscription", version, new SubscriptionInfo(version, 11, new ProcessId(process), "host:8080", sums, (byte) 3, version >= 9 ? 4 : 0, tags).encode());
            TopicPartition one = new TopicPartition("a\u0000\ud83d\ude00", 0), two = new TopicPartition("b", 5);
            AssignmentInfo info = new AssignmentInfo(version, 11,
                List.of(new TaskId(0, 1, topology), topology == null ? new TaskId(2, 2) : new TaskId(2, 2, topology)),
                Map.of(new TaskId(1, 0, topology), Set.of(one)),
                Map.of(new HostInfo("host", 8080), Set.of(one), new HostInfo("h2", 1), Set.of(two)),
                Map.of(new HostInfo("host", 8080), Set.of(two)), version >= 4 ? 1 : 0);
            if (version >= 7) {
                info.setNextRebalanceTime(version == 7 ? Long.MAX_VALUE : 1700000000000L);
            }
            print("streams-assignment", version, info.encode());
            print("streams-assignment", version, new AssignmentInfo(version, 11, List.of(), Map.of(), Map.of(), Map.of(), 0).encode());
        }
    }

    static void connect() {
        var tasks = List.of(new ConnectorTaskId("sink", 0), new ConnectorTaskId("source", 2));
        print("connect-metadata", 0, ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState("http://w:8083/", 12)));
        print("connect-assignment", 0, ConnectProtocol.serializeAssignment(
            new ConnectProtocol.Assignment((short) 0, "leader", "http://l:8083/", 12, List.of("sink"), tasks)));
        for (int version = 1; version <= 2; version++) {
            var assignment = new ExtendedAssignment((short) version, (short) 1, "leader", "http://l:8083/", 12,
                List.of("sink"), tasks, List.of("old"), List.of(new ConnectorTaskId("old", 1)), 3000);
            print("connect-assignment", version, IncrementalCooperativeConnectProtocol.serializeAssignment(assignment, version == 2));
            print("connect-metadata", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://w:8083/", 12, assignment), version == 2));
            print("connect-metadata", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://w:8083/", 12, null), version == 2));
        }
    }
}
