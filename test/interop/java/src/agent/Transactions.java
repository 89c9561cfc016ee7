import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends in transactions. A message says by its properties what becomes of it: "local" is what its local transaction decides, "checks"
 * are the answers to the broker's questions, one after the other. Each question is reported as an event, as if the producer consumed it.
 */
final class Transactions {
    private Transactions() {}

    private record Running(TransactionMQProducer producer) implements Agent.Client {
        @Override
        public void stop() {
            producer.shutdown();
        }
    }

    static void register(Map<String, Agent.Work> works) {
        works.put("transactions", Transactions::start);
        works.put("transact", Transactions::send);
    }

    private static Map<String, Object> start(Order order) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(order.text("group"));
        producer.setNamesrvAddr(order.text("nameServer"));
        producer.setInstanceName(order.text("name"));
        producer.setSendMsgTimeout(15_000);
        producer.setPollNameServerInterval(1000);
        producer.setHeartbeatBrokerInterval(1000); // the broker asks whom it knows from a heartbeat
        producer.setTransactionListener(new Decisions(order.text("name")));
        producer.start();
        Agent.keep(order, new Running(producer));
        return Map.of();
    }

    private static final class Decisions implements TransactionListener {
        private final String name;
        private final Map<String, Integer> asked = new ConcurrentHashMap<>();

        Decisions(String name) {
            this.name = name;
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message m, Object argument) {
            return decision(m.getUserProperty("local"));
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt m) {
            Consumers.event(name, m);
            String[] checks = m.getUserProperty("checks").split(" ");
            int before = asked.merge(new String(m.getBody()), 1, Integer::sum) - 1;
            return decision(checks[Math.min(before, checks.length - 1)]);
        }
    }

    private static LocalTransactionState decision(String text) {
        return switch (text) {
            case "commit" -> LocalTransactionState.COMMIT_MESSAGE;
            case "rollback" -> LocalTransactionState.ROLLBACK_MESSAGE;
            case "unknown" -> LocalTransactionState.UNKNOW;
            default -> throw new IllegalArgumentException("unknown decision " + text);
        };
    }

    private static Map<String, Object> send(Order order) throws Exception {
        TransactionMQProducer producer = Agent.client(order, Running.class).producer;
        List<Map<String, Object>> results = new ArrayList<>();
        for (Order m : order.list("messages")) {
            results.add(Producers.result(producer.sendMessageInTransaction(Messages.read(order.text("topic"), m), null)));
        }
        return Map.of("results", results);
    }
}
