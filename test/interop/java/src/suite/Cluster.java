package suite;

import java.util.concurrent.Callable;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.constant.PermName;
import org.apache.rocketmq.common.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * The cluster that the tests use: masters that are all up, told by system properties. Topics and groups are made with the
 * requests of mqadmin, and are there when a method returns.
 */
public final class Cluster {
    private static final long PATIENCE_MS = 30_000;

    private final DefaultMQAdminExt admin = new DefaultMQAdminExt();
    private final String nameServer = System.getProperty("suite.namesrv");
    private final String name = System.getProperty("suite.cluster");
    private final String[] brokers = System.getProperty("suite.brokers").split(",");
    private final String[] addresses = System.getProperty("suite.addresses").split(",");

    private Cluster() {}

    public static Cluster connect() {
        Cluster c = new Cluster();
        c.admin.setInstanceName("suite-" + ProcessHandle.current().pid());
        c.admin.setNamesrvAddr(c.nameServer);
        try {
            c.admin.start();
        } catch (Exception e) {
            throw new IllegalStateException("start the admin client: " + e, e);
        }
        return c;
    }

    public String nameServer() {
        return nameServer;
    }

    public String name() {
        return name;
    }

    public int size() {
        return brokers.length;
    }

    public String broker(int i) {
        return brokers[i];
    }

    /** Makes the topic on every broker; the name server knows all its queues then. */
    public void createTopic(String topic, int queues) {
        for (String address : addresses) {
            await("create topic " + topic + " at " + address, () -> {
                admin.createAndUpdateTopicConfig(address, new TopicConfig(topic, queues, queues, PermName.PERM_READ | PermName.PERM_WRITE));
                return true;
            });
        }
        await("see the route of topic " + topic, () -> admin.examineTopicRouteInfo(topic).getQueueDatas().stream()
            .filter(q -> q.getWriteQueueNums() == queues && q.getReadQueueNums() == queues).count() == brokers.length);
    }

    /** Makes the subscription group on every broker. */
    public void createGroup(String group) {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        for (String address : addresses) {
            await("create group " + group + " at " + address, () -> {
                admin.createAndUpdateSubscriptionGroupConfig(address, config);
                return true;
            });
        }
    }

    /** Repeats a step until it is done; a busy machine may miss a client's time-out. */
    private static void await(String what, Callable<Boolean> step) {
        long end = System.nanoTime() + PATIENCE_MS * 1_000_000;
        Exception last = null;
        while (System.nanoTime() < end) {
            try {
                if (step.call()) {
                    return;
                }
                Thread.sleep(50);
            } catch (Exception e) {
                last = e;
            }
        }
        throw new IllegalStateException(what + ": not within " + PATIENCE_MS + " ms" + (last == null ? "" : ": " + last), last);
    }
}
