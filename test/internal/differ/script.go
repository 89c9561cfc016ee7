package differ

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// statement is one line of a script.
type statement struct {
	line int
	conn string // name of the connection
	verb string // send, start, await, pending, inbox, answer, close, sleep
	id   string // of start, await and pending
	req  request
	wait time.Duration

	// nonsense says that mutate made a field missing or unreadable. weir answers that with 1 wherever it matters, Java
	// often goes on with null or 0.
	nonsense bool
}

// request is what a line sends. Texts still hold $NAMES.
type request struct {
	label   string
	target  string
	code    int
	fields  []field
	rawHead string
	rawExt  string
	options options
	body    string
	keep    map[string]string // variable: source
}

// options of a request.
type options struct {
	binary, oneway, shape, nobody bool
	version                       int
	language                      string
	timeout                       time.Duration
}

type field struct{ name, value string }

// allowance is a difference that is meant.
type allowance struct {
	line   int
	match  *regexp.Regexp
	reason string
	// optional says that it needs not occur: it hangs on the time.
	optional bool
	used     bool
}

// script is a parsed file.
type script struct {
	statements []statement
	allowed    []*allowance
}

// what a field is set to by mutate. The first leaves it out.
var mutations = []string{"~", "", "x", "-1", "1.5", "+1", " 1", "2147483648", "9223372036854775808", "true"}

// parse reads a script.
func parse(text string) (*script, error) {
	s := &script{}
	p := &parser{script: s, named: map[string]string{}}
	for i, line := range joinLines(text) {
		if err := p.line(i+1, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return s, nil
}

// joinLines moves what is continued to the line it continues, and leaves comments out.
func joinLines(text string) []string {
	lines := strings.Split(text, "\n")
	last := -1
	for i, line := range lines {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#"), strings.TrimSpace(line) == "":
			lines[i] = ""
		case strings.HasPrefix(line, " ") && last >= 0:
			lines[last] += " " + strings.TrimSpace(line)
			lines[i] = ""
		default:
			last = i
		}
	}
	return lines
}

type parser struct {
	script *script
	named  map[string]string
}

var (
	connPrefix  = regexp.MustCompile(`^(\w+): `)
	startPrefix = regexp.MustCompile(`^(\w+)& `)
	manyForms   = regexp.MustCompile(` (\w+)=\{.{30,}?\}`)
	allowLine   = regexp.MustCompile(`^(allow|may) /(.*?)/ (.+)$`)
)

func (p *parser) line(n int, line string) error {
	if line == "" {
		return nil
	}
	if m := allowLine.FindStringSubmatch(line); m != nil {
		re, err := regexp.Compile("(?s)" + m[2])
		p.script.allowed = append(p.script.allowed, &allowance{line: n, match: re, reason: m[3], optional: m[1] == "may"})
		return err
	}
	if rest, ok := strings.CutPrefix(line, "let "); ok {
		name, body, _ := strings.Cut(rest, " = ")
		p.named[name] = p.expandName(body)
		return nil
	}
	st := statement{line: n, conn: "main", verb: "send"}
	if m := connPrefix.FindStringSubmatch(line); m != nil {
		st.conn, line = m[1], line[len(m[0]):]
	}
	if m := startPrefix.FindStringSubmatch(line); m != nil {
		st.verb, st.id, line = "start", m[1], line[len(m[0]):]
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "await", "pending":
		st.verb, st.id = word, rest
	case "inbox", "close":
		st.verb = word
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		st.verb, st.wait = word, d
	case "answer":
		code, reply, _ := strings.Cut(rest, " ")
		st.verb, st.id = word, code
		return p.requests(st, line, "broker "+reply, nil)
	case "mutate":
		return p.requests(st, rest, p.expandName(rest), mutations)
	case "absent":
		return p.requests(st, rest, p.expandName(rest), mutations[:1])
	default:
		return p.requests(st, line, p.expandName(line), nil)
	}
	p.script.statements = append(p.script.statements, st)
	return nil
}

// expandName replaces the first word if it is the name of a request.
func (p *parser) expandName(line string) string {
	word, rest, _ := strings.Cut(line, " ")
	base, ok := p.named[word]
	if !ok {
		return line
	}
	fields, body, _ := strings.Cut(base, "<<")
	if strings.Contains(rest, "<<") || body == "" {
		return fields + " " + rest
	}
	if at := strings.LastIndex(rest, " => "); at >= 0 {
		return fields + " " + rest[:at] + " <<" + body + rest[at:]
	}
	return fields + " " + rest + " <<" + body
}

// requests adds the statement once for each form of the request.
func (p *parser) requests(st statement, label, text string, mutate []string) error {
	forms, err := parseRequest(text, manyForms.ReplaceAllString(label, " $1={..}"))
	if err != nil {
		return err
	}
	for _, form := range forms {
		st.req = form
		if mutate == nil {
			p.script.statements = append(p.script.statements, st)
			continue
		}
		for i, f := range form.fields {
			for _, value := range mutate {
				st.req.fields = append([]field(nil), form.fields...)
				st.req.fields[i].value = value
				if value == "~" {
					st.req.fields = append(st.req.fields[:i], st.req.fields[i+1:]...)
				}
				st.req.label = fmt.Sprintf("%s [%s=%q]", form.label, f.name, value)
				st.nonsense = value != "-1" && value != "+1"
				st.req.options.shape = true // one may have stored what the other has not
				p.script.statements = append(p.script.statements, st)
			}
		}
	}
	return nil
}

// parseRequest reads `TARGET CODE words << body => keep` into all its forms.
func parseRequest(text, label string) ([]request, error) {
	r := request{label: label, options: options{version: 407, language: "GO", timeout: 3 * time.Second}, keep: map[string]string{}}
	if i := strings.LastIndex(text, " => "); i >= 0 {
		for _, pair := range strings.Fields(text[i+4:]) {
			name, source, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, fmt.Errorf("%q keeps nothing", pair)
			}
			r.keep[name] = source
		}
		text = text[:i]
	}
	var err error
	if i := strings.Index(text, "<<"); i >= 0 {
		if r.body, err = parseBody(text[i+2:]); err != nil {
			return nil, err
		}
		text = text[:i]
	}
	words, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	if len(words) < 2 {
		return nil, fmt.Errorf("%q is no request", text)
	}
	forms, err := r.codes(words[0], words[1])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	for _, word := range words[2:] {
		if forms, err = addWord(forms, word); err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// codes returns the request once for each of its codes.
func (r request) codes(target, list string) ([]request, error) {
	if target != "broker" && target != "names" {
		return nil, errors.New("a request is sent to broker or names")
	}
	values, err := alternatives(list)
	if err != nil {
		return nil, err
	}
	var forms []request
	for _, v := range values {
		f := r
		f.target = target
		if f.code, err = strconv.Atoi(v); err != nil {
			return nil, err
		}
		if len(values) > 1 {
			f.label = fmt.Sprintf("%s [%d]", r.label, f.code)
		}
		forms = append(forms, f)
	}
	return forms, nil
}

func addWord(forms []request, word string) ([]request, error) {
	if option, ok := strings.CutPrefix(word, ":"); ok {
		for i := range forms {
			if err := forms[i].option(option); err != nil {
				return nil, err
			}
		}
		return forms, nil
	}
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		return nil, fmt.Errorf("%q is neither field nor option", word)
	}
	values, err := alternatives(value)
	if err != nil {
		return nil, err
	}
	var out []request
	for _, form := range forms {
		for _, v := range values {
			f := form
			f.set(name, v)
			if len(values) > 1 {
				f.label = fmt.Sprintf("%s [%s=%q]", form.label, name, v)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func (r *request) set(name, value string) {
	fields := make([]field, 0, len(r.fields)+1)
	for _, f := range r.fields {
		if f.name != name {
			fields = append(fields, f)
		}
	}
	if value != "~" {
		fields = append(fields, field{name, value})
	}
	r.fields = fields
}

func (r *request) option(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	o := &r.options
	switch name {
	case "binary":
		o.binary = true
	case "oneway":
		o.oneway = true
	case "shape":
		o.shape = true
	case "nobody":
		o.nobody = true
	case "version":
		o.version, err = strconv.Atoi(value)
	case "language":
		o.language = value
	case "timeout":
		o.timeout, err = time.ParseDuration(value)
	case "raw":
		r.rawHead = value
		if strings.HasPrefix(value, `"`) {
			r.rawHead, err = strconv.Unquote(value)
		}
	case "ext":
		r.rawExt = value
	default:
		err = fmt.Errorf("option %q is unknown", name)
	}
	return err
}

// splitWords splits at blanks that are not between quotes or braces.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			word.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted && c == '{':
			depth++
		case !quoted && c == '}':
			depth--
		case !quoted && depth == 0 && c == ' ':
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			continue
		}
		word.WriteByte(c)
	}
	if quoted || depth != 0 {
		return nil, fmt.Errorf("quotes or braces of %q do not end", text)
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words, nil
}

// alternatives reads a value or a list of them in braces.
func alternatives(value string) ([]string, error) {
	list := []string{value}
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		list = splitCommas(value[1 : len(value)-1])
	}
	for i, v := range list {
		if strings.HasPrefix(v, `"`) {
			plain, err := strconv.Unquote(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v, err)
			}
			list[i] = plain
		}
	}
	return list, nil
}

func splitCommas(text string) []string {
	var list []string
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			list = append(list, text[start:i])
			start = i + 1
		}
	}
	return append(list, text[start:])
}

// parseBody reads what follows <<.
func parseBody(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "repeat "); ok {
		count, what, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.Atoi(count)
		return strings.Repeat(what, max(n, 0)), err
	}
	if rest, ok := strings.CutPrefix(text, "batch "); ok {
		return batchBody(strings.TrimSpace(rest))
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `"`) {
		return strconv.Unquote(text)
	}
	return text, nil
}

// batchBody encodes `flag|properties|body;...`, where properties are `name:value,...`.
//
//	4 size | 4 magic | 4 checksum | 4 flag | 4+n body | 2+n properties
func batchBody(text string) (string, error) {
	var b []byte
	for _, one := range strings.Split(text, ";") {
		part := strings.SplitN(one, "|", 3)
		if len(part) != 3 {
			return "", fmt.Errorf("%q is no message of a batch", one)
		}
		flag, err := strconv.Atoi(part[0])
		if err != nil {
			return "", err
		}
		properties := strings.NewReplacer(":", "\x01", ",", "\x02").Replace(part[1])
		b = binary.BigEndian.AppendUint32(b, uint32(22+len(part[2])+len(properties)))
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(flag))
		b = binary.BigEndian.AppendUint32(b, uint32(len(part[2])))
		b = append(b, part[2]...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(properties)))
		b = append(b, properties...)
	}
	return string(b), nil
}
