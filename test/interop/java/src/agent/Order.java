import java.util.List;
import java.util.Map;

/** One line of input: what to do, and its arguments. */
final class Order {
    private final Map<String, Object> fields;

    Order(Map<String, Object> fields) {
        this.fields = fields;
    }

    boolean has(String name) {
        return fields.get(name) != null;
    }

    String text(String name, String otherwise) {
        return has(name) ? (String) fields.get(name) : otherwise;
    }

    String text(String name) {
        if (!has(name)) {
            throw new IllegalArgumentException("no " + name + " in " + fields);
        }
        return (String) fields.get(name);
    }

    long number(String name, long otherwise) {
        return has(name) ? (Long) fields.get(name) : otherwise;
    }

    boolean flag(String name) {
        return Boolean.TRUE.equals(fields.get(name));
    }

    @SuppressWarnings("unchecked")
    List<Order> list(String name) {
        return ((List<Map<String, Object>>) fields.get(name)).stream().map(Order::new).toList();
    }

    @SuppressWarnings("unchecked")
    List<String> texts(String name) {
        return (List<String>) fields.get(name);
    }

    @SuppressWarnings("unchecked")
    List<Long> numbers(String name) {
        return (List<Long>) fields.get(name);
    }

    @SuppressWarnings("unchecked")
    Map<String, String> map(String name) {
        return has(name) ? (Map<String, String>) fields.get(name) : Map.of();
    }
}
