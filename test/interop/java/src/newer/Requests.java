import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/** Request-reply: who asks, and who answers. */
final class Requests {
    private Requests() {}

    private record Asking(DefaultMQProducer producer) implements Agent.Client {
        @Override
        public void stop() {
            producer.shutdown();
        }
    }

    static void register(Map<String, Agent.Work> works) {
        works.put("requester", order -> {
            Agent.keep(order, new Asking(producer(order)));
            return Map.of();
        });
        works.put("request", Requests::request);
        works.put("replier", Requests::replier);
    }

    private static DefaultMQProducer producer(Order order) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(order.text("group") + "-producer");
        producer.setNamesrvAddr(order.text("nameServer"));
        producer.setInstanceName(order.text("name") + "-producer");
        producer.start();
        return producer;
    }

    /** Asks, and returns the body of the answer. */
    private static Map<String, Object> request(Order order) throws Exception {
        Message question = new Message(order.text("topic"), order.text("body").getBytes(StandardCharsets.UTF_8));
        Message answer = Agent.client(order, Asking.class).producer.request(question, order.number("timeout", 15_000));
        return Map.of("body", new String(answer.getBody(), StandardCharsets.UTF_8));
    }

    /** Answers each message with its body backwards; one that says "silence" gets no answer. The outcomes of answers are events. */
    private static Map<String, Object> replier(Order order) throws Exception {
        DefaultMQProducer producer = producer(order);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(order.text("group"));
        consumer.setNamesrvAddr(order.text("nameServer"));
        consumer.setInstanceName(order.text("name"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPollNameServerInterval(1000);
        consumer.subscribe(order.text("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(m -> {
                String body = new String(m.getBody(), StandardCharsets.UTF_8);
                if (body.equals("silence")) {
                    return;
                }
                try {
                    byte[] answer = new StringBuilder(body).reverse().toString().getBytes(StandardCharsets.UTF_8);
                    producer.send(MessageUtil.createReplyMessage(m, answer));
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Agent.keep(order, () -> {
            consumer.shutdown();
            producer.shutdown();
        });
        return Map.of();
    }
}
