package differ

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
)

// Result is what a script found.
type Result struct {
	Requests int
	Findings []Finding // that nothing in the script allows
	Unused   []string  // allowances that nothing needed
	Allowed  int       // findings that the script allows
}

// Run runs a script on both sides.
func Run(text string, java, weir Side) (*Result, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	sides := []*runner{newRunner(java), newRunner(weir)}
	defer sides[0].close()
	defer sides[1].close()
	r := &Result{}
	for i := range s.statements {
		st := &s.statements[i]
		if st.verb == "sleep" {
			time.Sleep(st.wait)
			continue
		}
		var got [2]string
		var wait sync.WaitGroup
		for k := range sides {
			wait.Go(func() { got[k] = sides[k].run(st) })
		}
		wait.Wait()
		r.Requests++
		if got[0] != got[1] && !(st.nonsense && got[1] == "1 remark") {
			r.add(s, Finding{Line: st.line, Label: label(st), Java: got[0], Weir: got[1]})
		}
	}
	for _, a := range s.allowed {
		if !a.used && !a.optional {
			r.Unused = append(r.Unused, fmt.Sprintf("line %d: allow /%s/ %s", a.line, a.match, a.reason))
		}
	}
	return r, nil
}

func label(st *statement) string {
	switch st.verb {
	case "send", "start":
		return st.conn + ": " + st.req.label
	}
	return strings.TrimSpace(st.conn + ": " + st.verb + " " + st.id)
}

func (r *Result) add(s *script, f Finding) {
	for _, a := range s.allowed {
		if a.match.MatchString(f.text()) {
			a.used = true
			r.Allowed++
			return
		}
	}
	r.Findings = append(r.Findings, f)
}

// runner is one side of a run.
type runner struct {
	side    Side
	neutral *neutral
	conns   map[string]*conn // by target and name
	started map[string]*started
	vars    map[string]string
	unread  bool // something was stored that may not be visible yet
}

type started struct {
	conn   *conn
	req    *request
	answer chan *frame
}

func newRunner(side Side) *runner {
	return &runner{
		side: side, neutral: newNeutral(side), conns: map[string]*conn{}, started: map[string]*started{},
		vars: map[string]string{"BROKER": side.Broker, "NAMES": side.Names},
	}
}

func (r *runner) close() {
	for _, c := range r.conns {
		c.close()
	}
}

// run does a statement and returns what is to be compared.
func (r *runner) run(st *statement) string {
	if st.verb == "await" || st.verb == "pending" {
		return r.finish(st)
	}
	target := "broker"
	if st.req.target != "" {
		target = st.req.target
	}
	c, err := r.conn(target, st.conn)
	if err != nil {
		return "cannot connect: " + err.Error()
	}
	switch st.verb {
	case "inbox":
		return r.inbox(c)
	case "close":
		c.close()
		delete(r.conns, target+" "+st.conn)
		return ""
	case "answer":
		code, _ := strconv.Atoi(st.id)
		c.answer(code, &frame{code: st.req.code, ext: r.fields(&st.req), body: []byte(r.expand(st.req.body)), language: "GO", version: 407})
		return ""
	}
	r.settle(st.req.code)
	opaque, answer := c.next(!st.req.options.oneway)
	b, err := r.encode(&st.req, opaque)
	if err != nil {
		return "cannot send: " + err.Error()
	}
	if err := c.send(b); err != nil {
		return "cannot send"
	}
	if st.verb == "start" {
		r.started[st.id] = &started{conn: c, req: &st.req, answer: answer}
		return ""
	}
	if answer == nil {
		return ""
	}
	f, err := c.wait(answer, st.req.options.timeout)
	if err != nil {
		delete(r.conns, target+" "+st.conn) // the next request gets a new one
		c.close()
		return err.Error()
	}
	return r.compare(&st.req, f)
}

// settle waits before a request that may look at what was stored until it is visible, which in Java takes a moment.
func (r *runner) settle(code int) {
	switch code {
	case 10, 310, 320, 36:
		r.unread = true
		return
	}
	if !r.unread {
		return
	}
	r.unread = false
	c, err := r.conn("broker", "settle")
	for err == nil {
		opaque, answer := c.next(true)
		q := frame{code: 28, opaque: opaque, language: "GO", version: 407}
		if err = c.send(q.encode()); err != nil {
			return
		}
		var f *frame
		if f, err = c.wait(answer, 3*time.Second); err == nil && bytes.Contains(f.body, []byte(`"dispatchBehindBytes":"0"`)) {
			return
		}
	}
}

func (r *runner) conn(target, name string) (*conn, error) {
	key := target + " " + name
	if c := r.conns[key]; c != nil {
		return c, nil
	}
	addr := r.side.Broker
	if target == "names" {
		addr = r.side.Names
	}
	c, err := dial(addr)
	if err == nil {
		r.conns[key] = c
	}
	return c, err
}

// compare keeps what the request wants kept and returns the answer's comparable form.
func (r *runner) compare(q *request, f *frame) string {
	for name, source := range q.keep {
		value, err := pick(f, source)
		if err != nil {
			return fmt.Sprintf("cannot keep %s: %v; %s", name, err, r.neutral.reply(q.code, f, q.options))
		}
		r.vars[name] = value
	}
	return r.neutral.reply(q.code, f, q.options)
}

func pick(f *frame, source string) (string, error) {
	switch {
	case source == "id":
		return f.ext["msgId"], nil
	case source == "logof":
		return logOffset(f.ext["msgId"])
	case source == "position":
		all, err := raw.DecodeRecords(f.body)
		if err != nil || len(all) == 0 {
			return "", errors.New("no records")
		}
		return strconv.FormatInt(all[0].LogOffset, 10), nil
	}
	name, ok := strings.CutPrefix(source, "ext.")
	if !ok {
		return "", fmt.Errorf("%s is unknown", source)
	}
	return f.ext[name], nil
}

func (r *runner) finish(st *statement) string {
	s := r.started[st.id]
	if s == nil {
		return "was not started"
	}
	if st.verb == "pending" {
		r.barrier(s.conn)
		return fmt.Sprint(len(s.answer) == 0)
	}
	delete(r.started, st.id)
	f, err := s.conn.wait(s.answer, s.req.options.timeout)
	if err != nil {
		return err.Error()
	}
	return r.compare(s.req, f)
}

// barrier waits until what the server has put on its way before is here: it asks for something harmless.
func (r *runner) barrier(c *conn) {
	for range 2 {
		opaque, answer := c.next(true)
		f := frame{code: 30, opaque: opaque, language: "GO", version: 407, ext: map[string]string{"topic": "barrier", "queueId": "0"}}
		if c.send(f.encode()) != nil {
			return
		}
		if _, err := c.wait(answer, 3*time.Second); err != nil {
			return
		}
	}
}

func (r *runner) inbox(c *conn) string {
	r.barrier(c)
	var list []string
	for _, f := range c.takeInbox() {
		list = append(list, r.neutral.reply(0, f, options{}))
	}
	return strings.Join(list, "\n")
}

var variable = regexp.MustCompile(`\$\w+`)

func (r *runner) expand(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	return variable.ReplaceAllStringFunc(s, func(name string) string {
		if value, ok := r.vars[name[1:]]; ok {
			return value
		}
		return name
	})
}

func (r *runner) fields(q *request) map[string]string {
	if len(q.fields) == 0 {
		return nil
	}
	ext := map[string]string{}
	for _, f := range q.fields {
		ext[f.name] = r.expand(f.value)
	}
	return ext
}

func (r *runner) encode(q *request, opaque int32) ([]byte, error) {
	body := []byte(r.expand(q.body))
	if q.rawHead != "" {
		return pack(0, []byte(strings.ReplaceAll(r.expand(q.rawHead), "OPAQUE", fmt.Sprint(opaque))), body), nil
	}
	f := frame{
		binary: q.options.binary, code: q.code, language: q.options.language, version: q.options.version,
		opaque: opaque, ext: r.fields(q), body: body,
	}
	if q.options.oneway {
		f.flag = flagOneWay
	}
	if q.rawExt == "" {
		return f.encode(), nil
	}
	head, err := json.Marshal(map[string]any{
		"code": f.code, "flag": f.flag, "opaque": opaque, "language": f.language, "version": f.version,
		"extFields": json.RawMessage(r.expand(q.rawExt)),
	})
	return pack(0, head, body), err
}
