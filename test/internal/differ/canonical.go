package differ

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
)

// neutral replaces what belongs to one run: addresses of the side, ports of clients, present times, id prefixes.
type neutral struct {
	words *strings.Replacer
	now   time.Time
}

var (
	digits     = regexp.MustCompile(`-?\d+`)
	localPort  = regexp.MustCompile(`127\.0\.0\.1:\d{4,5}\b`)
	offsetID   = regexp.MustCompile(`7F000001([0-9A-F]{24}|0{24}[0-9A-F]{24})`) // where a record is shows in what comes before it
	aboutADay  = int64(24 * 3600 * 1000)
	momentText = regexp.MustCompile(`\b1[0-9]{12}\b`)
	clockText  = regexp.MustCompile(`20\d\d-\d\d-\d\d#\d\d:\d\d:\d\d:\d+`)
	counter    = regexp.MustCompile(`counter("?):\d+`) // of changes: a side that refused one has fewer
	measured   = regexp.MustCompile(`(consumeTps|delayTime)("?):[-\d.E]+`)
	place      = regexp.MustCompile(`(physicOffset|physicSize)("?):\d+`)
)

func newNeutral(side Side) *neutral {
	return &neutral{words: strings.NewReplacer(side.Broker, "$BROKER", side.Names, "$NAMES"), now: time.Now()}
}

func (n *neutral) text(s string) string {
	s = n.words.Replace(s)
	s = localPort.ReplaceAllString(s, "$$CLIENT")
	s = clockText.ReplaceAllString(s, "CLOCK")
	s = counter.ReplaceAllString(s, "counter$1:N")
	s = measured.ReplaceAllString(s, "$1$2:N")
	s = place.ReplaceAllString(s, "$1$2:N")
	s = offsetID.ReplaceAllString(s, "ID")
	return momentText.ReplaceAllStringFunc(s, func(t string) string {
		v, _ := strconv.ParseInt(t, 10, 64)
		if d := v - n.now.UnixMilli(); d > -aboutADay && d < aboutADay {
			return "TIME"
		}
		return t
	})
}

// reply is the comparable form of an answer to a request of the code. These differences are the same everywhere and
// therefore not a script's business:
//
//   - Java writes an error that was thrown as JSON whatever the request's header was, weir mirrors the request.
//   - Java's answers to sends have MSG_REGION and TRACE_ON unless an error was thrown, weir's always.
//   - Java leaves "not set any response code" as the remark of many a success.
func (n *neutral) reply(code int, f *frame, o options) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(f.code))
	if f.flag != flagResponse || f.version != 407 {
		fmt.Fprintf(&b, " flag=%d version=%d", f.flag, f.version)
	}
	if f.binary && f.code == 0 {
		b.WriteString(" binary")
	}
	switch {
	case code == 11 && (f.code == 0 || f.code >= 19 && f.code <= 21):
		b.WriteString(" remark=" + f.remark) // the name of a status
	case f.code != 0 && f.remark != "":
		b.WriteString(" remark")
	}
	for _, key := range sortedKeys(f.ext) {
		v := n.text(f.ext[key])
		if o.shape {
			v = digits.ReplaceAllString(v, "N")
		}
		if key == "indexLastUpdatePhyoffset" && v != "0" { // it depends on the records before
			v = "POSITION"
		}
		if f.code == 1 && (key == "MSG_REGION" || key == "TRACE_ON") {
			continue
		}
		fmt.Fprintf(&b, " %s=%q", key, v)
	}
	if len(f.body) > 0 && !o.nobody {
		b.WriteString(" body=" + n.body(f.body, o))
	}
	return b.String()
}

func (n *neutral) body(body []byte, o options) string {
	if all, err := raw.DecodeRecords(body); err == nil {
		return n.records(all)
	}
	text := n.text(string(body)) // before anything is sorted: ports of clients must not decide an order
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		c, err := canonicalJSON(text, o.shape)
		if err != nil {
			return fmt.Sprintf("broken JSON (%v) %q", err, text)
		}
		return c
	}
	if strings.Contains(text, "=") && strings.Contains(text, "\n") {
		return propertiesText(text, o.shape)
	}
	return strconv.Quote(text)
}

// records shows what of a record does not depend on when it was stored. Its properties are those that a client reads:
// Java writes what it has read from a property string, weir changes the string in place.
func (n *neutral) records(all []*raw.Record) string {
	var b strings.Builder
	for _, r := range all {
		var properties []string
		for _, name := range sortedKeys(r.Properties) {
			if value := r.Properties[name]; name != "" && value != "" {
				properties = append(properties, name+"="+n.text(value))
			}
		}
		text := string(r.Body)
		if len(text) > 40 {
			text = text[:40] + fmt.Sprintf("...%d", len(r.Body))
		}
		fmt.Fprintf(&b, "\n[%s/%d@%d flag %d sys %#x again %d prepared %d born %s %q %q]", r.Topic, r.Queue, r.QueueOffset,
			r.Flag, r.SysFlag, r.ReconsumeTimes, r.Prepared, n.text(strconv.FormatInt(r.BornAt, 10)), text, strings.Join(properties, " "))
	}
	return b.String()
}

// propertiesText sorts lines of `name=value`, without values in shape.
func propertiesText(text string, shape bool) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if name, _, ok := strings.Cut(line, "="); ok && shape {
			lines[i] = name
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// canonicalJSON sorts the members of objects and the elements of arrays of what fastjson writes, which is not always
// JSON: names may be numbers or objects. Numbers and their quoted forms as names are the same, 0.0 and 0 are as well.
func canonicalJSON(text string, shape bool) (string, error) {
	p := &jsonReader{text: text, shape: shape}
	v, err := p.value()
	if err != nil {
		return "", err
	}
	if p.at != len(text) {
		return "", fmt.Errorf("text after the value at %d", p.at)
	}
	return v, nil
}

type jsonReader struct {
	text  string
	at    int
	shape bool
}

func (p *jsonReader) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonReader) value() (string, error) {
	switch p.peek() {
	case '{':
		return p.list('{', '}')
	case '[':
		return p.list('[', ']')
	case '"':
		return p.quoted()
	}
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(",:]}", rune(p.text[p.at])) {
		p.at++
	}
	word := p.text[start:p.at]
	if word == "" {
		return "", fmt.Errorf("no value at %d", start)
	}
	if p.shape && digits.MatchString(word) {
		return "N", nil
	}
	return strings.TrimSuffix(word, ".0"), nil
}

func (p *jsonReader) quoted() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			s, err := strconv.Unquote(strings.ReplaceAll(p.text[start:p.at], `\/`, `/`))
			if err != nil {
				return "", fmt.Errorf("string at %d: %w", start, err)
			}
			if p.shape {
				s = digits.ReplaceAllString(s, "N")
			}
			return strconv.Quote(s), nil
		}
	}
	return "", fmt.Errorf("string at %d does not end", start)
}

func (p *jsonReader) list(first, last byte) (string, error) {
	var all []string
	p.at++
	for p.peek() != last {
		v, err := p.value()
		if err != nil {
			return "", err
		}
		if first == '{' {
			if p.peek() != ':' {
				return "", fmt.Errorf("no colon at %d", p.at)
			}
			p.at++
			m, err := p.value()
			if err != nil {
				return "", err
			}
			if plain, err := strconv.Unquote(v); err == nil {
				v = plain
			}
			v += ":" + m
		}
		all = append(all, v)
		switch p.peek() {
		case ',':
			p.at++
		case last:
		default:
			return "", fmt.Errorf("no comma at %d", p.at)
		}
	}
	p.at++
	sort.Strings(all)
	return string(first) + strings.Join(all, ",") + string(last), nil
}

// logOffset is the position in an offset message id, or in the first of a list.
func logOffset(id string) (string, error) {
	id, _, _ = strings.Cut(id, ",")
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != 16 {
		return "", fmt.Errorf("%q is no offset message id", id)
	}
	v := int64(0)
	for _, x := range b[8:] {
		v = v<<8 | int64(x)
	}
	return strconv.FormatInt(v, 10), nil
}
