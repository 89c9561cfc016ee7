package suite;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.Runner;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs the tests of one JUnit class and says on standard output what becomes of them, a line with tabs for each:
 *
 * <pre>
 * @suite plan  METHOD                          once for each, before the first test
 * @suite pass  METHOD  MILLISECONDS
 * @suite fail  METHOD  MILLISECONDS  FIRST LINE OF THE FAILURE
 * @suite skip  METHOD  MILLISECONDS
 * </pre>
 *
 * So it is known of a JVM that was killed which tests it owes. Everything else that is printed belongs to the tests.
 * Arguments: the class and the methods to run, all if none is named.
 */
public final class OneClass extends RunListener {
    // Its own, so that a line is one write and begins a line, whatever tests have printed.
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private long began;
    private String failure;
    private boolean skipped;

    private OneClass() {}

    public static void main(String[] args) throws Exception {
        // Without its static initialiser, which may fail: the plan is known before.
        Class<?> type = Class.forName(args[0], false, OneClass.class.getClassLoader());
        Set<String> methods = Set.of(Arrays.copyOfRange(args, 1, args.length));
        Request request = Request.aClass(type);
        Runner runner = methods.isEmpty() ? request.getRunner() : request.filterWith(chosen(methods)).getRunner();
        for (Description test : runner.getDescription().getChildren()) {
            say("plan", test.getMethodName());
        }
        JUnitCore core = new JUnitCore();
        core.addListener(new OneClass());
        core.run(runner);
        System.exit(0); // tests may leave clients running
    }

    private static Filter chosen(Set<String> methods) {
        return new Filter() {
            @Override
            public boolean shouldRun(Description d) {
                return d.isTest() ? methods.contains(d.getMethodName()) : d.getChildren().stream().anyMatch(this::shouldRun);
            }

            @Override
            public String describe() {
                return methods.toString();
            }
        };
    }

    @Override
    public void testStarted(Description test) {
        began = System.nanoTime();
        failure = null;
        skipped = false;
    }

    @Override
    public void testFailure(Failure f) {
        System.err.println(f.getDescription() + " failed:\n" + f.getTrace());
        if (!f.getDescription().isTest()) { // what is done before or after all tests
            say("fail", "(class)", "0", firstLine(f.getException()));
        } else if (failure == null) {
            failure = firstLine(f.getException());
        }
    }

    @Override
    public void testAssumptionFailure(Failure f) {
        skipped = true;
    }

    @Override
    public void testIgnored(Description test) {
        say("skip", test.getMethodName(), "0");
    }

    @Override
    public void testFinished(Description test) {
        String took = Long.toString((System.nanoTime() - began) / 1_000_000);
        if (failure != null) {
            say("fail", test.getMethodName(), took, failure);
        } else {
            say(skipped ? "skip" : "pass", test.getMethodName(), took);
        }
    }

    /** The cause, if the tests' base class could not be initialised; at most 500 characters. */
    private static String firstLine(Throwable thrown) {
        while (thrown instanceof LinkageError && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        String line = thrown.toString().strip().lines().findFirst().orElse("").replace('\t', ' ');
        return line.substring(0, Math.min(500, line.length()));
    }

    private static void say(String... words) {
        byte[] line = ("\n@suite\t" + String.join("\t", words) + "\n").getBytes(StandardCharsets.UTF_8);
        OUT.write(line, 0, line.length);
        OUT.flush();
    }
}
