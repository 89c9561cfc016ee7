package org.apache.rocketmq.test.base;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.test.client.rmq.RMQAsyncSendProducer;
import org.apache.rocketmq.test.client.rmq.RMQNormalConsumer;
import org.apache.rocketmq.test.client.rmq.RMQNormalProducer;
import org.apache.rocketmq.test.client.rmq.RMQTransactionalProducer;
import org.apache.rocketmq.test.clientinterface.MQConsumer;
import org.apache.rocketmq.test.clientinterface.MQProducer;
import org.apache.rocketmq.test.factory.ConsumerFactory;
import org.apache.rocketmq.test.listener.AbstractListener;
import org.apache.rocketmq.test.util.MQRandomUtils;

/**
 * What the published tests extend. Theirs starts brokers in the tests' own JVM; this one, first on the class path, has
 * the tests use a cluster that is up. The compiled tests decide about package, names and signatures; there is nothing here
 * for tests that reach into a broker, which therefore don't link.
 */
public class BaseConf {
    private static final suite.Cluster CLUSTER = suite.Cluster.connect();
    private static final int QUEUES = 8;

    public static String nsAddr = CLUSTER.nameServer();
    protected static String broker1Name = CLUSTER.broker(0);
    protected static String broker2Name = CLUSTER.broker(1);
    protected static String clusterName = CLUSTER.name();
    protected static int brokerNum = CLUSTER.size();
    protected static int waitTime = 5; // seconds for consumers to share queues
    protected static int consumeTime = 2 * 60 * 1000; // ms to wait for everything sent
    protected static List<Object> mqClients = new ArrayList<>(); // tests add to it
    protected static boolean debug;

    public static String initTopic() {
        return initTopicWithName(MQRandomUtils.getRandomTopic());
    }

    public static String initTopicWithName(String topic) {
        CLUSTER.createTopic(topic, QUEUES);
        return topic;
    }

    public static String initConsumerGroup() {
        return initConsumerGroup(MQRandomUtils.getRandomConsumerGroup());
    }

    public static String initConsumerGroup(String group) {
        CLUSTER.createGroup(group);
        return group;
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic) {
        return kept(new RMQNormalProducer(nsAddr, topic, false));
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, boolean tls) {
        return kept(new RMQNormalProducer(nsAddr, topic, tls));
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, String group, String instance) {
        return kept(new RMQNormalProducer(nsAddr, topic, group, instance));
    }

    public static RMQAsyncSendProducer getAsyncProducer(String nsAddr, String topic) {
        return kept(new RMQAsyncSendProducer(nsAddr, topic));
    }

    public static RMQTransactionalProducer getTransactionalProducer(String nsAddr, String topic, TransactionListener listener) {
        return kept(new RMQTransactionalProducer(nsAddr, topic, false, listener));
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String topic, String expression, AbstractListener listener) {
        return getConsumer(nsAddr, initConsumerGroup(), topic, expression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String topic, String expression, AbstractListener listener, boolean tls) {
        return getConsumer(nsAddr, initConsumerGroup(), topic, expression, listener, tls);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String group, String topic, String expression, AbstractListener listener) {
        return getConsumer(nsAddr, group, topic, expression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String group, String topic, String expression,
        AbstractListener listener, boolean tls) {
        return kept(ConsumerFactory.getRMQNormalConsumer(nsAddr, group, topic, expression, listener, tls));
    }

    /** Stops the clients that were handed out; one that can't be stopped doesn't keep the others running. */
    public static void shutdown() {
        for (Object client : mqClients) {
            try {
                if (client instanceof MQProducer) {
                    ((MQProducer) client).shutdown();
                } else {
                    ((MQConsumer) client).shutdown();
                }
            } catch (RuntimeException e) {
                e.printStackTrace();
            }
        }
        mqClients.clear();
    }

    private static <T> T kept(T client) {
        mqClients.add(client);
        return client;
    }
}
