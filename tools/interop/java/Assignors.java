import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.*;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Kafka's own assignors on rows of `metashell groups assign`, one on a line of standard input.
 *
 * Without arguments each line of the answer is the row's output. With a number N, each row is assigned N times, as long as that takes
 * less than 5 s, and each line of the answer is the shortest time in nanoseconds.
 */
public class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** How long the last assignment took, without reading its input and writing its output. */
    private static long nanoseconds;

    public static void main(String[] arguments) throws Exception {
        System.setProperty("log4j2.level", "OFF");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode row = JSON.readTree(line);
            String name = row.get("assignor").asText();
            JsonNode input = row.get("input");
            Callable<ObjectNode> work = name.startsWith("server-") ? server(name, input) : client(name, input);
            System.out.println(arguments.length == 0 ? answer(work) : shortest(work, Integer.parseInt(arguments[0])));
        }
    }

    private static ObjectNode answer(Callable<ObjectNode> work) {
        try {
            return work.call();
        } catch (Throwable error) {
            return JSON.createObjectNode().put("error", error.getClass().getName()).put("message", error.getMessage());
        }
    }

    private static long shortest(Callable<ObjectNode> work, int times) throws Exception {
        long best = Long.MAX_VALUE;
        long end = System.nanoTime() + 5_000_000_000L;
        for (int i = 0; i < times && (i == 0 || System.nanoTime() < end); i++) {
            work.call();
            best = Math.min(best, nanoseconds);
        }
        return best;
    }

    private static Callable<ObjectNode> client(String name, JsonNode input) {
        Map<Integer, Node> nodes = new HashMap<>();
        for (JsonNode node : input.path("nodes")) {
            int id = node.get("id").asInt();
            nodes.put(id, new Node(id, "host", 9092, node.path("rack").textValue()));
        }
        List<PartitionInfo> partitions = new ArrayList<>();
        input.get("topics").fields().forEachRemaining(topic -> {
            for (int i = 0; i < topic.getValue().size(); i++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode id : topic.getValue().get(i)) replicas.add(nodes.computeIfAbsent(id.asInt(), number -> new Node(number, "host", 9092)));
                Node[] array = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), i, array.length == 0 ? null : array[0], array, array));
            }
        });
        Cluster cluster = new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
        return () -> {
            Map<String, Subscription> members = new LinkedHashMap<>();
            for (JsonNode member : input.get("members")) {
                byte[] sent = HexFormat.of().parseHex(member.get("subscription").asText());
                Subscription subscription = ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(sent));
                subscription.setGroupInstanceId(Optional.ofNullable(member.path("instanceId").textValue()));
                members.put(member.get("id").asText(), subscription);
            }
            ConsumerPartitionAssignor assignor = switch (name) {
                case "range" -> new org.apache.kafka.clients.consumer.RangeAssignor();
                case "roundrobin" -> new RoundRobinAssignor();
                case "sticky" -> new StickyAssignor();
                default -> new CooperativeStickyAssignor();
            };
            ObjectNode output = JSON.createObjectNode();
            long start = System.nanoTime();
            var found = assignor.assign(cluster, new GroupSubscription(members)).groupAssignment();
            long took = System.nanoTime() - start;
            ObjectNode assignment = output.putObject("assignment");
            for (String id : members.keySet()) {
                var runs = assignment.putArray(id);
                String last = null;
                for (TopicPartition one : found.get(id).partitions()) {
                    if (!one.topic().equals(last)) runs.addArray().add(one.topic()).addArray();
                    last = one.topic();
                    ((com.fasterxml.jackson.databind.node.ArrayNode) runs.get(runs.size() - 1).get(1)).add(one.partition());
                }
            }
            if (assignor instanceof AbstractStickyAssignor sticky) {
                var moving = sticky.partitionsTransferringOwnership();
                if (moving == null) {
                    output.putNull("transferring");
                } else {
                    ObjectNode owners = output.putObject("transferring");
                    moving.forEach((partition, owner) -> owners.put(partition.toString(), owner));
                }
                output.put("maxGeneration", sticky.maxGeneration());
            }
            nanoseconds = took;
            return output;
        };
    }

    private static Callable<ObjectNode> server(String name, JsonNode input) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : input.get("members")) {
            Set<Uuid> topics = new LinkedHashSet<>();
            for (JsonNode id : member.get("topicIds")) topics.add(Uuid.fromString(id.asText()));
            Map<Uuid, Set<Integer>> previous = new LinkedHashMap<>();
            member.path("previous").fields().forEachRemaining(topic -> {
                Uuid id = Uuid.fromString(topic.getKey());
                Set<Integer> held = new LinkedHashSet<>();
                previous.put(id, held);
                for (JsonNode partition : topic.getValue()) {
                    held.add(partition.asInt());
                    owners.computeIfAbsent(id, key -> new HashMap<>()).put(partition.asInt(), member.get("id").asText());
                }
            });
            members.put(
                member.get("id").asText(),
                new MemberSubscriptionAndAssignmentImpl(
                    Optional.ofNullable(member.path("rackId").textValue()),
                    Optional.ofNullable(member.path("instanceId").textValue()),
                    topics,
                    new Assignment(previous)));
        }
        Optional<Map<Uuid, Set<Integer>>> assignable = Optional.empty();
        if (input.hasNonNull("assignable")) {
            Map<Uuid, Set<Integer>> allowed = new HashMap<>();
            input.get("assignable").fields().forEachRemaining(topic -> {
                Set<Integer> partitions = new HashSet<>();
                for (JsonNode partition : topic.getValue()) partitions.add(partition.asInt());
                allowed.put(Uuid.fromString(topic.getKey()), partitions);
            });
            assignable = Optional.of(allowed);
        }
        Map<Uuid, Integer> counts = new HashMap<>();
        input.get("topics").fields().forEachRemaining(topic -> counts.put(Uuid.fromString(topic.getKey()), topic.getValue().get("partitions").asInt()));
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid id) {
                return counts.getOrDefault(id, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid id, int partition) {
                return Set.of();
            }
        };
        SubscriptionType type = SubscriptionType.valueOf(input.get("subscriptionType").asText());
        GroupSpecImpl spec = new GroupSpecImpl(members, type, owners, assignable);
        PartitionAssignor assignor = switch (name) {
            case "server-uniform" -> new UniformAssignor();
            case "server-range" -> new org.apache.kafka.coordinator.group.assignor.RangeAssignor();
            default -> new SimpleAssignor();
        };
        return () -> {
            ObjectNode output = JSON.createObjectNode();
            long start = System.nanoTime();
            var found = assignor.assign(spec, describer).members();
            long took = System.nanoTime() - start;
            ObjectNode assignment = output.putObject("assignment");
            for (String id : members.keySet()) {
                if (found.get(id) == null) {
                    assignment.putNull(id);
                    continue;
                }
                ObjectNode topics = assignment.putObject(id);
                found.get(id).partitions().forEach((topic, partitions) -> {
                    var list = topics.putArray(topic.toString());
                    new TreeSet<>(partitions).forEach(list::add);
                });
            }
            nanoseconds = took;
            return output;
        };
    }

}
