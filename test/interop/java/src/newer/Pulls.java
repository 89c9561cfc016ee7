import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The old pull consumer, and the questions that it can ask about queues. */
final class Pulls {
    private record Running(DefaultMQPullConsumer consumer, String topic, MessageSelector filter) implements Agent.Client {
        @Override
        public void stop() {
            consumer.shutdown();
        }
    }

    private Pulls() {}

    static void register(Map<String, Agent.Work> works) {
        works.put("puller", Pulls::start);
        works.put("pull", Pulls::pull);
        works.put("queues", Pulls::queues);
        works.put("offsets", Pulls::offsets);
        works.put("commit", Pulls::commit);
    }

    private static Map<String, Object> start(Order order) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(order.text("group"));
        consumer.setNamesrvAddr(order.text("nameServer"));
        consumer.setInstanceName(order.text("name"));
        consumer.setBrokerSuspendMaxTimeMillis(2000);
        consumer.setPollNameServerInterval(1000);
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setRegisterTopics(Set.of(order.text("topic")));
        consumer.start();
        String expression = order.text("expression", "*");
        MessageSelector filter = order.flag("sql") ? MessageSelector.bySql(expression) : MessageSelector.byTag(expression);
        Agent.keep(order, new Running(consumer, order.text("topic"), filter));
        if (order.flag("sql")) {
            awaitVersion(consumer, order);
        }
        return Map.of();
    }

    /** The client refuses to filter by SQL92 until an answer to a heartbeat has told it the version of the broker. */
    private static void awaitVersion(DefaultMQPullConsumer consumer, Order order) throws Exception {
        for (;;) {
            try {
                Running running = Agent.client(order, Running.class);
                for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(running.topic)) {
                    consumer.pull(queue, running.filter, 0, 1);
                }
                return;
            } catch (MQClientException e) {
                if (!String.valueOf(e.getMessage()).contains("does not upgrade")) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    private static MessageQueue queue(Order order, Running running) {
        return new MessageQueue(running.topic, order.text("broker"), (int) order.number("queue", 0));
    }

    private static Map<String, Object> pull(Order order) throws Exception {
        Running running = Agent.client(order, Running.class);
        PullResult r;
        int max = (int) order.number("max", 32);
        if (order.flag("wait")) {
            r = running.consumer.pullBlockIfNotFound(queue(order, running), running.filter.getExpression(), order.number("offset", 0), max);
        } else {
            r = running.consumer.pull(queue(order, running), running.filter, order.number("offset", 0), max);
        }
        List<MessageExt> found = r.getMsgFoundList() == null ? List.of() : r.getMsgFoundList();
        return Map.of("status", r.getPullStatus().name(), "next", r.getNextBeginOffset(), "min", r.getMinOffset(),
            "max", r.getMaxOffset(), "messages", found.stream().map(Messages::write).toList());
    }

    private static Map<String, Object> queues(Order order) throws Exception {
        Running running = Agent.client(order, Running.class);
        return Map.of("queues", new TreeSet<>(running.consumer.fetchSubscribeMessageQueues(running.topic)).stream()
            .map(q -> q.getBrokerName() + ":" + q.getQueueId()).toList());
    }

    private static Map<String, Object> offsets(Order order) throws Exception {
        Running running = Agent.client(order, Running.class);
        MessageQueue mq = queue(order, running);
        return Map.of("min", running.consumer.minOffset(mq), "max", running.consumer.maxOffset(mq),
            "earliest", running.consumer.earliestMsgStoreTime(mq), "found", running.consumer.searchOffset(mq, order.number("time", 0)));
    }

    /** Commits an offset and asks the broker for it. */
    private static Map<String, Object> commit(Order order) throws Exception {
        Running running = Agent.client(order, Running.class);
        MessageQueue mq = queue(order, running);
        running.consumer.getOffsetStore().updateConsumeOffsetToBroker(mq, order.number("offset", 0), false);
        return Map.of("committed", running.consumer.fetchConsumeOffset(mq, true));
    }
}
