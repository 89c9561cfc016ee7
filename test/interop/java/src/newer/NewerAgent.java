import java.util.Map;

/** The agent with what clients can do that 4.3.0 can't: lite pull, request-reply, and the pull consumer as it is since 4.9. */
public final class NewerAgent {
    private NewerAgent() {}

    public static void main(String[] args) throws Exception {
        Map<String, Agent.Work> works = Agent.works();
        LitePulls.register(works);
        Pulls.register(works);
        Requests.register(works);
        Agent.run(works);
    }
}
