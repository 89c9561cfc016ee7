import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;

/**
 * RocketMQ clients that a test tells what to do. Each line of standard input is a JSON object with "id", "op" and
 * arguments; each line of standard output answers one of them by its id, or reports a message that a consumer got.
 * The same protocol is spoken by the agent for the Go client; test/internal/agent is the other side.
 *
 * Orders run side by side, an agent ends with its input. This folder compiles against all clients from 4.3.0 on; what came later
 * is in ../newer, whose NewerAgent is started with those that have it.
 */
public final class Agent {
    /** Does one order; the map is merged into the answer. */
    interface Work {
        Map<String, Object> run(Order order) throws Exception;
    }

    /** Something with a name that "stop" ends. */
    interface Client {
        void stop() throws Exception;
    }

    private static final PrintStream OUT = System.out;
    static final Map<String, Client> CLIENTS = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        run(works());
    }

    /** What every client can do. */
    static Map<String, Work> works() {
        Map<String, Work> works = new LinkedHashMap<>();
        Producers.register(works);
        Transactions.register(works);
        Consumers.register(works);
        works.put("stop", order -> {
            CLIENTS.remove(order.text("name")).stop();
            return Map.of();
        });
        return works;
    }

    static void run(Map<String, Work> works) throws Exception {
        System.setOut(System.err); // libraries that print must not mix with answers
        serve(works);
        Runtime.getRuntime().halt(0); // clients that still run would answer their brokers for seconds
    }

    static void serve(Map<String, Work> works) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool(r -> {
            Thread thread = new Thread(r);
            thread.setDaemon(true);
            return thread;
        });
        emit(Map.of("event", "ready"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> fields = Json.object(line);
            pool.execute(() -> answer(works, fields));
        }
    }

    private static void answer(Map<String, Work> works, Map<String, Object> fields) {
        Order order = new Order(fields);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", fields.get("id"));
        try {
            answer.putAll(works.get(order.text("op")).run(order));
        } catch (Throwable e) {
            answer.putAll(failure(e));
        }
        emit(answer);
    }

    /** Text of an error, and the broker's code and remark if it was the broker that refused. */
    static Map<String, Object> failure(Throwable e) {
        Map<String, Object> f = new LinkedHashMap<>();
        f.put("error", e.toString());
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof MQBrokerException refused) {
                f.put("code", refused.getResponseCode());
                f.put("remark", refused.getErrorMessage());
                return f;
            }
            if (cause instanceof MQClientException refused && refused.getResponseCode() > 0) {
                f.put("code", refused.getResponseCode());
                f.put("remark", refused.getErrorMessage());
            }
        }
        return f;
    }

    static void emit(Map<String, ?> line) {
        byte[] bytes = (Json.write(line) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (OUT) {
            OUT.write(bytes, 0, bytes.length);
            OUT.flush();
        }
    }

    static void keep(Order order, Client client) {
        CLIENTS.put(order.text("name"), client);
    }

    static <T> T client(Order order, Class<T> type) {
        return type.cast(CLIENTS.get(order.text("name")));
    }
}
