// The assignments that `kafka-reassign-partitions --generate` proposes, asked for by the hundred in one JVM.
//
// Standard input has clusters, each ended by an empty line: `broker ID RACK` (RACK `-`: none), `partition TOPIC NUMBER ID,ID...`, and `runs N`.
// For each cluster and run a line per partition is printed, `TOPIC NUMBER ID,ID...`, and an empty line after each run.
// ReassignPartitionsCommand.calculateAssignment is what the tool itself calls once it has asked the cluster for brokers and replicas.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;

public class Generates {
    private static final String COMMAND = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand";

    public static void main(String[] args) throws Exception {
        Method calculate = Stream.of(Class.forName(COMMAND).getDeclaredMethods())
            .filter(method -> method.getName().equals("calculateAssignment")).findFirst().orElseThrow();
        calculate.setAccessible(true);
        List<Object> brokers = new ArrayList<>();
        Map<TopicPartition, List<Integer>> current = new HashMap<>();
        int runs = 1;
        StringBuilder out = new StringBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "broker" -> brokers.add(broker(Integer.parseInt(words[1]), words[2]));
                case "partition" -> current.put(new TopicPartition(words[1], Integer.parseInt(words[2])), ids(words[3]));
                case "runs" -> runs = Integer.parseInt(words[1]);
                default -> {
                    for (int run = 0; run < runs; run++) {
                        print((Map<?, ?>) calculate.invoke(null, current, brokers), out);
                    }
                    brokers.clear();
                    current.clear();
                }
            }
        }
        System.out.print(out);
    }

    // 4.x: UsableBroker(id, rack, fenced); 3.9: BrokerMetadata(id, rack).
    private static Object broker(int id, String rack) throws Exception {
        Optional<String> named = rack.equals("-") ? Optional.empty() : Optional.of(rack);
        try {
            Constructor<?> made = Class.forName("org.apache.kafka.admin.BrokerMetadata").getConstructor(int.class, Optional.class);
            return made.newInstance(id, named);
        } catch (ClassNotFoundException e) {
            return Class.forName("org.apache.kafka.metadata.placement.UsableBroker")
                .getConstructor(int.class, Optional.class, boolean.class).newInstance(id, named, false);
        }
    }

    private static List<Integer> ids(String text) {
        return Stream.of(text.split(",")).map(Integer::parseInt).collect(Collectors.toList());
    }

    private static void print(Map<?, ?> assignment, StringBuilder out) {
        assignment.forEach((key, replicas) -> {
            TopicPartition place = (TopicPartition) key;
            out.append(place.topic()).append(' ').append(place.partition()).append(' ');
            out.append(((List<?>) replicas).stream().map(String::valueOf).collect(Collectors.joining(","))).append('\n');
        });
        out.append('\n');
    }
}
