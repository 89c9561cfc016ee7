import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Starts producers and sends with them in every way they have. */
final class Producers {
    private record Running(DefaultMQProducer producer) implements Agent.Client {
        @Override
        public void stop() {
            producer.shutdown();
        }
    }

    private Producers() {}

    static void register(Map<String, Agent.Work> works) {
        works.put("producer", Producers::start);
        works.put("send", Producers::send);
        works.put("view", order -> Map.of("message", Messages.write(view(order))));
        works.put("query", Producers::query);
        works.put("recall", Producers::recall);
    }

    private static Map<String, Object> start(Order order) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(order.text("group"));
        producer.setNamesrvAddr(order.text("nameServer"));
        producer.setInstanceName(order.text("name"));
        producer.setSendMsgTimeout((int) order.number("timeout", 15_000));
        producer.setMaxMessageSize(64 << 20); // so that limits are the broker's
        if (order.has("vip")) {
            producer.setVipChannelEnabled(order.flag("vip"));
        }
        producer.setPollNameServerInterval(1000);
        producer.start();
        Agent.keep(order, new Running(producer));
        return Map.of();
    }

    /** Every message gets its entry in "results", in order; a batch gets one. */
    private static Map<String, Object> send(Order order) throws Exception {
        DefaultMQProducer producer = Agent.client(order, Running.class).producer;
        String topic = order.text("topic");
        List<Message> messages = order.list("messages").stream().map(m -> Messages.read(topic, m)).toList();
        MessageQueue queue = order.has("queue") ? new MessageQueue(topic, order.text("broker"), (int) order.number("queue", 0)) : null;
        List<Map<String, Object>> results = switch (order.text("mode", "sync")) {
            case "sync" -> sync(producer, messages, queue);
            case "async" -> async(producer, messages, queue);
            case "oneway" -> oneWay(producer, messages, queue);
            case "batch" -> List.of(result(queue == null ? producer.send(messages) : producer.send(messages, queue)));
            default -> throw new IllegalArgumentException("unknown mode");
        };
        return Map.of("results", results);
    }

    private static List<Map<String, Object>> sync(DefaultMQProducer producer, List<Message> messages, MessageQueue queue) {
        List<Map<String, Object>> results = new ArrayList<>();
        for (Message m : messages) {
            try {
                results.add(result(queue == null ? producer.send(m) : producer.send(m, queue)));
            } catch (Exception e) {
                results.add(Agent.failure(e));
            }
        }
        return results;
    }

    private static List<Map<String, Object>> async(DefaultMQProducer producer, List<Message> messages, MessageQueue queue) throws Exception {
        Map<String, Object>[] results = slots(messages.size());
        CountDownLatch open = new CountDownLatch(messages.size());
        for (int i = 0; i < messages.size(); i++) {
            int slot = i;
            SendCallback callback = new SendCallback() {
                @Override
                public void onSuccess(SendResult r) {
                    results[slot] = result(r);
                    open.countDown();
                }

                @Override
                public void onException(Throwable e) {
                    results[slot] = Agent.failure(e);
                    open.countDown();
                }
            };
            if (queue == null) {
                producer.send(messages.get(i), callback);
            } else {
                producer.send(messages.get(i), queue, callback);
            }
        }
        if (!open.await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException(open.getCount() + " callbacks never came");
        }
        return Arrays.asList(results);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object>[] slots(int n) {
        return new Map[n];
    }

    private static List<Map<String, Object>> oneWay(DefaultMQProducer producer, List<Message> messages, MessageQueue queue) throws Exception {
        for (Message m : messages) {
            if (queue == null) {
                producer.sendOneway(m);
            } else {
                producer.sendOneway(m, queue);
            }
        }
        return List.of();
    }

    static Map<String, Object> result(SendResult r) {
        Map<String, Object> e = new LinkedHashMap<>();
        e.put("status", r.getSendStatus().name());
        e.put("msgId", r.getMsgId());
        e.put("offsetMsgId", r.getOffsetMsgId());
        e.put("queue", r.getMessageQueue().getQueueId());
        e.put("offset", r.getQueueOffset());
        try {
            e.put("recallHandle", SendResult.class.getMethod("getRecallHandle").invoke(r));
        } catch (NoSuchMethodException old) {
            // before 5.3
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException(broken);
        }
        return e;
    }

    /** Takes a message back that waits for its time; of 5.3 and later. */
    private static Map<String, Object> recall(Order order) throws Exception {
        DefaultMQProducer producer = Agent.client(order, Running.class).producer;
        try {
            Object id = DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class).invoke(producer, order.text("topic"), order.text("handle"));
            return Map.of("msgId", id);
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }

    /** Reads a message by the id that the broker gave it, or by its producer's. */
    private static MessageExt view(Order order) throws Exception {
        return Agent.client(order, Running.class).producer.viewMessage(order.text("topic"), order.text("msgId"));
    }

    /** Finds messages by a key. */
    private static Map<String, Object> query(Order order) throws Exception {
        QueryResult r = Agent.client(order, Running.class).producer
            .queryMessage(order.text("topic"), order.text("key"), (int) order.number("max", 32), 0, Long.MAX_VALUE);
        return Map.of("messages", r.getMessageList().stream().map(Messages::write).toList());
    }
}
