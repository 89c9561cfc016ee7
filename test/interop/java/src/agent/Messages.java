import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages as the test writes and reads them. */
final class Messages {
    private Messages() {}

    /** "body" is text; "size" instead of it asks for so many bytes that no compression shortens. */
    static Message read(String topic, Order order) {
        byte[] body = order.text("body", "").getBytes(StandardCharsets.UTF_8);
        int size = (int) order.number("size", 0);
        if (size > 0) {
            body = new byte[size];
            new Random(size).nextBytes(body);
        }
        Message m = new Message(topic, body);
        if (order.has("tags")) {
            m.setTags(order.text("tags"));
        }
        if (order.has("keys")) {
            m.setKeys(order.text("keys"));
        }
        m.setFlag((int) order.number("flag", 0));
        if (order.has("delay")) {
            m.setDelayTimeLevel((int) order.number("delay", 0));
        }
        order.map("properties").forEach(m::putUserProperty);
        if (order.has("delayMillis")) {
            delay(m, order.number("delayMillis", 0));
        }
        return m;
    }

    /** Delays by a time of its own, as a user does it: with the setter of 5.x, or where there is none with its property. */
    private static void delay(Message m, long millis) {
        try {
            Message.class.getMethod("setDelayTimeMs", long.class).invoke(m, millis);
        } catch (NoSuchMethodException old) {
            m.putUserProperty("TIMER_DELAY_MS", Long.toString(millis));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static Map<String, Object> write(MessageExt m) {
        Map<String, Object> e = new LinkedHashMap<>();
        e.put("topic", m.getTopic());
        e.put("queue", m.getQueueId());
        e.put("offset", m.getQueueOffset());
        e.put("msgId", m.getMsgId());
        if (m instanceof MessageClientExt c) {
            e.put("offsetMsgId", c.getOffsetMsgId());
        }
        e.put("flag", m.getFlag());
        e.put("reconsumeTimes", m.getReconsumeTimes());
        e.put("storedAt", m.getStoreTimestamp());
        e.put("size", m.getBody().length);
        e.put("hash", Arrays.hashCode(m.getBody()));
        if (m.getBody().length <= 16 << 10) {
            e.put("body", new String(m.getBody(), StandardCharsets.UTF_8));
        }
        e.put("tags", m.getTags() == null ? "" : m.getTags());
        e.put("keys", m.getKeys() == null ? "" : m.getKeys());
        e.put("properties", m.getProperties());
        return e;
    }
}
