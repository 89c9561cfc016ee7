import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs commands of mqadmin one after the other and answers with what they printed. The protocol is that of Agent. */
public final class Tools {
    private Tools() {}

    public static void main(String[] args) throws Exception {
        Map<String, Agent.Work> works = new LinkedHashMap<>();
        works.put("mqadmin", Tools::run);
        Agent.serve(works);
        Runtime.getRuntime().halt(0);
    }

    private static synchronized Map<String, Object> run(Order order) {
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream capture = new PrintStream(printed, true, StandardCharsets.UTF_8);
        System.setOut(capture);
        PrintStream errors = System.err;
        System.setErr(capture);
        try {
            System.setProperty("rocketmq.namesrv.addr", order.text("nameServer"));
            MQAdminStartup.main0(order.texts("args").toArray(new String[0]), null);
        } finally {
            System.setOut(before);
            System.setErr(errors);
        }
        return Map.of("output", printed.toString(StandardCharsets.UTF_8));
    }
}
