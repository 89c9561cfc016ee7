package broker

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

var rewrite = flag.Bool("rewrite", false, "write the results of scenarios into their files")

// TestScenarios plays the files testdata/*.txt to a whole broker, in a time of its own that moves when everybody waits. A file is a
// list of commands, each at the beginning of a line, and below each, indented, what it shows; # begins a comment. With -rewrite the
// results are written into the files, to be read before they are committed. testdata/README.md explains the commands.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		if filepath.Base(file) == "java-records.txt" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				got := newScenario(t).play(string(text))
				if *rewrite {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, lines := strings.Split(string(text), "\n"), strings.Split(got, "\n")
				for i := range max(len(want), len(lines)) {
					if i >= len(want) || i >= len(lines) || want[i] != lines[i] {
						t.Fatalf("from line %d on the file has\n%s\nand it should be\n%s", i+1, strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"),
							strings.Join(lines[min(i, len(lines)):min(i+3, len(lines))], "\n"))
					}
				}
			})
		})
	}
}

// scenario is a broker and what was seen of it.
type scenario struct {
	t         *testing.T
	w         *world
	n         *node
	began     time.Time
	read      map[message.QueueKey]message.Offset
	halves    map[string]halfMessage // by body
	producers map[string]*fakeSession
	groups    map[string]string           // of the producers
	seen      map[string]message.Position // by body, the latest record that was read
}

func newScenario(t *testing.T) *scenario {
	s := &scenario{t: t, w: newWorld(), began: time.Now(), read: map[message.QueueKey]message.Offset{},
		halves: map[string]halfMessage{}, producers: map[string]*fakeSession{}, groups: map[string]string{}, seen: map[string]message.Position{}}
	s.n = s.w.start(t)
	return s
}

func (s *scenario) play(text string) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue // a result, made anew
		}
		out.WriteString(line + "\n")
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		synctest.Wait()
		for _, l := range s.run(words[0], parseArgs(s.t, words[1:])) {
			out.WriteString("  " + l + "\n")
		}
		synctest.Wait()
	}
	return out.String()
}

// args are the words of a command, those with an = apart.
type args struct {
	t     *testing.T
	words []string
	set   map[string]string
}

func parseArgs(t *testing.T, words []string) args {
	a := args{t: t, set: map[string]string{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.set[k] = v
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) int(key string, fallback int) int {
	v, ok := a.set[key]
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		a.t.Fatalf("%s: %v", key, err)
	}
	return n
}

func (s *scenario) run(command string, a args) []string {
	switch command {
	case "group":
		s.n.putGroup(func(g *transport.GroupConfig) {
			g.Name, g.RetryMaxTimes = a.words[0], int32(a.int("tries", 16))
		})
	case "send":
		return s.send(a)
	case "return":
		return s.giveBack(a)
	case "read":
		return s.readQueue(message.QueueKey{Topic: a.words[0], ID: message.QueueID(a.int("queue", 0))})
	case "wait":
		d, err := time.ParseDuration(a.words[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.wait(d)
	case "restart":
		return s.restart(a)
	case "producer":
		s.producer(a)
	case "half":
		return s.half(a)
	case "commit", "rollback":
		return s.end(command, a)
	case "asked":
		return s.asked(a.words[0])
	case "progress":
		text, err := s.n.h.Broker.DelayOffsets(s.t.Context(), caller(newSession("10.0.0.1:1")))
		if err != nil {
			s.t.Fatal(err)
		}
		return []string{string(text)}
	default:
		s.t.Fatalf("no command %q", command)
	}
	return nil
}

// send sends a message: TOPIC BODY, queue=, delay=, tries= and other words with an = as properties.
func (s *scenario) send(a args) []string {
	m := newSend(a.words[0], a.words[1])
	m.QueueID, m.ReconsumeTimes, m.BornTimestamp = message.QueueID(a.int("queue", 0)), int32(a.int("tried", 0)), time.Now().UnixMilli()
	for _, k := range slices.Sorted(maps.Keys(a.set)) {
		switch k {
		case "queue", "tried":
		case "delay":
			m.Properties = message.AppendProperty(m.Properties, message.PropDelay, a.set[k])
		default:
			m.Properties = message.AppendProperty(m.Properties, k, a.set[k])
		}
	}
	got := &s.n.send(newSession("10.0.0.2:50000"), m).Sends[0]
	if got.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", got.Code, got.Remark)}
	}
	return []string{fmt.Sprintf("stored, queue %d", got.AnsweredQueueID)}
}

// giveBack returns a message that was read: GROUP BODY, delay=.
func (s *scenario) giveBack(a args) []string {
	r := s.n.giveBack(transport.Return{Group: a.words[0], Position: s.seen[a.words[1]], DelayLevel: int32(a.int("delay", 0))})
	if r.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", r.Code, r.Remark)}
	}
	return nil
}

// readQueue shows what has become readable in a queue since it was read last.
func (s *scenario) readQueue(q message.QueueKey) (lines []string) {
	for {
		p := s.n.pull("reader", q.Topic, q.ID, s.read[q])
		if p.Code != message.Success {
			break
		}
		for _, c := range p.Records.Chunks {
			for len(c) > 0 {
				rec, n, err := message.ViewRecord(c)
				if err != nil {
					s.t.Fatal(err)
				}
				lines = append(lines, s.show(rec))
				c = c[n:]
			}
		}
		s.read[q] = p.NextBeginOffset
		p.Records.Release()
	}
	if lines == nil {
		return []string{"nothing"}
	}
	return lines
}

func (s *scenario) show(rec message.Record) string {
	s.seen[string(rec.Body())] = rec.Position()
	line := fmt.Sprintf("%s, stored after %v", rec.Body(), time.UnixMilli(rec.StoreTimestamp()).Sub(s.began))
	if n := rec.ReconsumeTimes(); n > 0 {
		line += fmt.Sprintf(", tried %d times", n)
	}
	p := rec.Properties().Map()
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if k != message.PropCluster && k != message.PropOriginMessageID {
			line += fmt.Sprintf(", %s=%s", k, p[k])
		}
	}
	return line
}

// restart stops the broker, changes levels=, with _ for blanks, or removes the file without=, and starts it. With kill the disk is what
// a power cut leaves of it.
func (s *scenario) restart(a args) []string {
	if v, ok := a.set["levels"]; ok {
		s.w.sec.Schedule.Levels = strings.ReplaceAll(v, "_", " ")
	}
	for _, p := range s.producers {
		p.Close("the broker stops")
	}
	s.n.stop()
	if file, ok := a.set["without"]; ok {
		path := "/data/config/" + file
		if err := errors.Join(s.w.fs.Remove(path), ignoreMissing(s.w.fs.Remove(path+".bak"))); err != nil {
			s.t.Fatal(err)
		}
	}
	s.w.cfg.Sections = nil
	s.n = s.w.start(s.t)
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
