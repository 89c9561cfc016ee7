import java.io.BufferedReader;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.parser.SelectorParser;

/**
 * Judges messages with RocketMQ's own filter classes. Arguments: a file of cases and a file for the answers.
 *
 * <p>A line of cases is an expression, a blank, and messages separated by ';'. A message is name:value, separated by ','.
 * All texts are in base64 for URLs without padding. The answer is a line with a letter for each message: T, F, U for null,
 * R when evaluating throws; or an X when the expression doesn't compile.
 */
public final class FilterJudge {
    private FilterJudge() {}

    public static void main(String[] args) throws Exception {
        System.setErr(new PrintStream(PrintStream.nullOutputStream()));
        try (BufferedReader cases = Files.newBufferedReader(Path.of(args[0]));
                Writer answers = Files.newBufferedWriter(Path.of(args[1]))) {
            for (String line = cases.readLine(); line != null; line = cases.readLine()) {
                int blank = line.indexOf(' ');
                answers.write(judge(text(line.substring(0, blank)), line.substring(blank + 1)));
                answers.write('\n');
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static String text(String base64) {
        return new String(Base64.getUrlDecoder().decode(base64), StandardCharsets.UTF_8);
    }

    private static String judge(String text, String messages) {
        Expression expression;
        try {
            expression = SelectorParser.parse(text);
        } catch (Throwable e) {
            return "X";
        }
        StringBuilder answer = new StringBuilder();
        for (String message : messages.split(";", -1)) {
            answer.append(judge(expression, new Properties(message)));
        }
        return answer.toString();
    }

    private static char judge(Expression expression, Properties properties) {
        try {
            Object value = expression.evaluate(properties);
            return value == null ? 'U' : Boolean.TRUE.equals(value) ? 'T' : 'F';
        } catch (Throwable e) {
            return 'R';
        }
    }

    private static final class Properties implements EvaluationContext {
        private final Map<String, Object> map = new HashMap<>();

        Properties(String message) {
            for (String item : message.split(",")) {
                int colon = item.indexOf(':');
                if (colon >= 0) {
                    map.put(text(item.substring(0, colon)), text(item.substring(colon + 1)));
                }
            }
        }

        @Override
        public Object get(String name) {
            return map.get(name);
        }

        @Override
        public Map<String, Object> keyValues() {
            return map;
        }
    }
}
