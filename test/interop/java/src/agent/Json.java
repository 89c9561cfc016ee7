import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Just enough JSON for one object a line. Own, because 4.9.7 and 5.x come with different libraries. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        return (Map<String, Object>) new Json(text).value();
    }

    private Object value() {
        blanks();
        char c = text.charAt(at);
        if (c == '{') {
            return map();
        }
        if (c == '[') {
            return list();
        }
        if (c == '"') {
            return string();
        }
        int start = at;
        while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> Long.parseLong(word);
        };
    }

    private Map<String, Object> map() {
        Map<String, Object> m = new LinkedHashMap<>();
        at++;
        for (blanks(); text.charAt(at) != '}'; blanks()) {
            String key = string();
            blanks();
            at++; // colon
            m.put(key, value());
            comma();
        }
        at++;
        return m;
    }

    private List<Object> list() {
        List<Object> l = new ArrayList<>();
        at++;
        for (blanks(); text.charAt(at) != ']'; blanks()) {
            l.add(value());
            comma();
        }
        at++;
        return l;
    }

    private void comma() {
        blanks();
        if (text.charAt(at) == ',') {
            at++;
        }
    }

    private void blanks() {
        while (text.charAt(at) == ' ') {
            at++;
        }
    }

    private String string() {
        StringBuilder s = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                s.append(c);
                continue;
            }
            c = text.charAt(++at);
            switch (c) {
                case 'n' -> s.append('\n');
                case 't' -> s.append('\t');
                case 'r' -> s.append('\r');
                case 'b' -> s.append('\b');
                case 'f' -> s.append('\f');
                case 'u' -> {
                    s.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> s.append(c);
            }
        }
        at++;
        return s.toString();
    }

    static String write(Object o) {
        StringBuilder s = new StringBuilder();
        write(s, o);
        return s.toString();
    }

    private static void write(StringBuilder s, Object o) {
        if (o instanceof Map<?, ?> m) {
            String gap = "{";
            for (Map.Entry<?, ?> e : m.entrySet()) {
                s.append(gap);
                write(s, String.valueOf(e.getKey()));
                s.append(':');
                write(s, e.getValue());
                gap = ",";
            }
            s.append(m.isEmpty() ? "{}" : "}");
        } else if (o instanceof Iterable<?> l) {
            s.append('[');
            String gap = "";
            for (Object e : l) {
                s.append(gap);
                write(s, e);
                gap = ",";
            }
            s.append(']');
        } else if (o instanceof String t) {
            quote(s, t);
        } else {
            s.append(o);
        }
    }

    private static void quote(StringBuilder s, String t) {
        s.append('"');
        for (int i = 0; i < t.length(); i++) {
            char c = t.charAt(i);
            if (c == '"' || c == '\\') {
                s.append('\\').append(c);
            } else if (c < 0x20) {
                s.append(String.format("\\u%04x", (int) c));
            } else {
                s.append(c);
            }
        }
        s.append('"');
    }
}
