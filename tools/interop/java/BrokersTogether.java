import java.util.ArrayList;
import java.util.List;

/** Runs several servers in one process, one thread each: what they share is the machine's time, as nodes of one host do, and its start. */
public class BrokersTogether {
    public static void main(String[] configs) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (String config : configs) {
            Thread thread = new Thread(() -> kafka.Kafka.main(new String[] {config}));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
