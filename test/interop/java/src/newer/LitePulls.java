import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Lite pull consumers, which poll: those that share a topic with their group, and those that choose their queues. */
final class LitePulls {
    private LitePulls() {}

    private record Polling(DefaultLitePullConsumer consumer, AtomicBoolean running, Thread thread) implements Agent.Client {
        @Override
        public void stop() throws InterruptedException {
            running.set(false);
            thread.join();
            consumer.shutdown();
        }
    }

    static void register(Map<String, Agent.Work> works) {
        works.put("poll", LitePulls::poll);
        works.put("seek", LitePulls::seek);
    }

    /** With "queues" they are assigned, otherwise the topic is subscribed. */
    private static Map<String, Object> poll(Order order) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(order.text("group"));
        consumer.setNamesrvAddr(order.text("nameServer"));
        consumer.setInstanceName(order.text("name"));
        consumer.setConsumeFromWhere(Consumers.from(order));
        consumer.setAutoCommit(false);
        consumer.setPollNameServerInterval(1000);
        consumer.setHeartbeatBrokerInterval(5000);
        if (order.has("queues")) {
            consumer.start(); // which queues there are can only be asked by one that runs
            consumer.assign(chosen(consumer, order));
        } else {
            subscribe(consumer, order);
            consumer.start();
        }
        AtomicBoolean running = new AtomicBoolean(true);
        Thread thread = new Thread(() -> {
            while (running.get()) {
                List<MessageExt> messages = consumer.poll(200);
                messages.forEach(m -> Consumers.event(order.text("name"), m));
                if (!messages.isEmpty()) {
                    consumer.commitSync();
                }
            }
        });
        thread.start();
        Agent.keep(order, new Polling(consumer, running, thread));
        return Map.of();
    }

    private static void subscribe(DefaultLitePullConsumer consumer, Order order) throws Exception {
        if (order.flag("sql")) {
            consumer.subscribe(order.text("topic"), MessageSelector.bySql(order.text("expression")));
        } else {
            consumer.subscribe(order.text("topic"), order.text("expression", "*"));
        }
    }

    private static Collection<MessageQueue> chosen(DefaultLitePullConsumer consumer, Order order) throws Exception {
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchMessageQueues(order.text("topic")));
        queues.removeIf(q -> !order.numbers("queues").contains((long) q.getQueueId()));
        return queues;
    }

    /** Goes on from "offset", or from the queue's "begin". */
    private static Map<String, Object> seek(Order order) throws Exception {
        DefaultLitePullConsumer consumer = Agent.client(order, Polling.class).consumer;
        MessageQueue queue = new MessageQueue(order.text("topic"), order.text("broker"), (int) order.number("queue", 0));
        if (order.flag("begin")) {
            consumer.seekToBegin(queue);
        } else {
            consumer.seek(queue, order.number("offset", 0));
        }
        return Map.of();
    }
}
