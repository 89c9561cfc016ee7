import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** Consumers that report every message they get as an event. */
final class Consumers {
    private Consumers() {}

    static void register(Map<String, Agent.Work> works) {
        works.put("push", Consumers::push);
        works.put("subscribe", order -> {
            subscribe(Agent.client(order, Pushing.class).consumer, order);
            return Map.of();
        });
        works.put("unsubscribe", order -> {
            Agent.client(order, Pushing.class).consumer.unsubscribe(order.text("topic"));
            return Map.of();
        });
    }

    private record Pushing(DefaultMQPushConsumer consumer) implements Agent.Client {
        @Override
        public void stop() {
            consumer.shutdown();
        }
    }

    private static void subscribe(DefaultMQPushConsumer consumer, Order order) throws Exception {
        if (order.flag("sql")) {
            consumer.subscribe(order.text("topic"), MessageSelector.bySql(order.text("expression")));
        } else {
            consumer.subscribe(order.text("topic"), order.text("expression", "*"));
        }
    }

    private static Map<String, Object> push(Order order) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(order.text("group"));
        consumer.setNamesrvAddr(order.text("nameServer"));
        consumer.setInstanceName(order.text("name"));
        consumer.setConsumeFromWhere(from(order));
        if (order.has("fromTime")) {
            consumer.setConsumeTimestamp(order.text("fromTime"));
        }
        if (order.flag("broadcast")) {
            // Through the enum's own class: it moved to another package in 5.x.
            Enum<?> model = consumer.getMessageModel();
            DefaultMQPushConsumer.class.getMethod("setMessageModel", model.getDeclaringClass())
                .invoke(consumer, Enum.valueOf(model.getDeclaringClass(), "BROADCASTING"));
        }
        consumer.setMaxReconsumeTimes((int) order.number("maxReconsume", -1));
        consumer.setPersistConsumerOffsetInterval(1000);
        consumer.setPollNameServerInterval(1000);
        consumer.setHeartbeatBrokerInterval(5000);
        awaitTermination(consumer);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        subscribe(consumer, order);
        Verdict verdict = new Verdict();
        String name = order.text("name");
        if (order.flag("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                boolean done = verdict.take(name, messages.get(0));
                return done ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                boolean done = verdict.take(name, messages.get(0));
                return done ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
            });
        }
        consumer.start();
        Agent.keep(order, new Pushing(consumer));
        return Map.of();
    }

    /** Lets what is just being consumed end before a shutdown, or it would come again. 4.3.0 doesn't have that. */
    private static void awaitTermination(DefaultMQPushConsumer consumer) throws Exception {
        try {
            DefaultMQPushConsumer.class.getMethod("setAwaitTerminationMillisWhenShutdown", long.class).invoke(consumer, 10_000L);
        } catch (NoSuchMethodException e) {
            return;
        }
    }

    static ConsumeFromWhere from(Order order) {
        return switch (order.text("from", "first")) {
            case "first" -> ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET;
            case "last" -> ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET;
            case "time" -> ConsumeFromWhere.CONSUME_FROM_TIMESTAMP;
            default -> throw new IllegalArgumentException("unknown start");
        };
    }

    /** Reports a message and decides: the property "fail" says how many of its deliveries fail, "take" how many milliseconds each takes. */
    private static final class Verdict {
        private final Map<String, Integer> failures = new ConcurrentHashMap<>();

        boolean take(String consumer, MessageExt m) {
            event(consumer, m);
            String take = m.getUserProperty("take");
            if (take != null) {
                pause(Long.parseLong(take));
            }
            String fail = m.getUserProperty("fail");
            return fail == null || failures.merge(m.getMsgId(), 1, Integer::sum) > Integer.parseInt(fail);
        }
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the consumer is being shut down
        }
    }

    static void event(String consumer, MessageExt m) {
        Map<String, Object> e = Messages.write(m);
        e.put("event", "message");
        e.put("consumer", consumer);
        e.put("at", ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        Agent.emit(e);
    }
}
