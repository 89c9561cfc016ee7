package remoting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/message"
)

// The bodies of requests for settings are texts of lines, name=value. RocketMQ writes and reads them by
// java.util.Properties, of which this is the part that settings need: blank lines and lines that begin with # or ! are
// skipped, a backslash escapes the character behind it, and name ends at the first = or : or blank.

// propertiesMax bounds the number of settings in one request.
const propertiesMax = 4096

// parseProperties reads a text of settings.
func parseProperties(text []byte) (map[string]string, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		name, value := splitProperty(line)
		if name == "" {
			return nil, refuse(message.SystemError, fmt.Sprintf("the settings have a line without a name: %.64q", line))
		}
		if len(values) >= propertiesMax {
			return nil, refuse(message.SystemError, fmt.Sprintf("more than %d settings", propertiesMax))
		}
		values[name] = value
	}
	if len(values) == 0 {
		return nil, refuse(message.SystemError, "the body names no settings")
	}
	return values, nil
}

// splitProperty cuts a line at its separator and takes the escapes out.
func splitProperty(line string) (name, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return unescapeProperty(line[:end]), unescapeProperty(value)
}

func unescapeProperty(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// appendProperties appends settings as RocketMQ writes them: name=value lines without escapes, which its own tools read
// back. They are in the order of the names.
func appendProperties(dst []byte, values map[string]string) []byte {
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		dst = append(dst, n...)
		dst = append(dst, '=')
		dst = append(dst, values[n]...)
		dst = append(dst, '\n')
	}
	return dst
}
