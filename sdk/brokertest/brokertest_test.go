package brokertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

func TestMessagesAndAddressesSurviveARestart(t *testing.T) {
	b := Start(t)
	nameServer, addr := b.NameServer(), b.Addr()
	c := client.New(client.Options{NameServers: []string{nameServer}})
	defer c.Close()
	sent, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: []byte("before")})
	if err != nil {
		t.Fatal(err)
	}
	b.Restart()
	if b.NameServer() != nameServer || b.Addr() != addr {
		t.Errorf("at %s and %s before, at %s and %s after", nameServer, addr, b.NameServer(), b.Addr())
	}
	again := client.New(client.Options{NameServers: []string{nameServer}})
	defer again.Close()
	if end, err := again.MaxOffset(t.Context(), sent.Queue); err != nil || end != 1 {
		t.Errorf("the queue ends at %d after the restart: %v", end, err)
	}
	if _, err := os.Stat(filepath.Join(b.DataDir(), "commitlog")); err != nil {
		t.Error(err)
	}
}

func TestSetReachesTheBroker(t *testing.T) {
	b := Start(t, Set("topics.auto_create", "true"), Set("topics.auto_create", "false"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	_, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")})
	var said *message.Error
	if !errors.As(err, &said) || said.Code != message.TopicNotExist {
		t.Errorf("sent to an unknown topic: %v", err)
	}
}

func TestStopWorksTwiceAndRestartAfterIt(t *testing.T) {
	b := Start(t)
	b.Stop()
	b.Stop()
	b.Restart()
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	if _, err := c.ClusterInfo(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBrokersInParallelDoNotMeet(t *testing.T) {
	a, b := Start(t), Start(t)
	if a.NameServer() == b.NameServer() || a.Addr() == b.Addr() || a.DataDir() == b.DataDir() {
		t.Errorf("%s %s %s and %s %s %s", a.NameServer(), a.Addr(), a.DataDir(), b.NameServer(), b.Addr(), b.DataDir())
	}
}

// failing is a test that notes its failure, and ends its goroutine like a real one.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		options []Option
		want    string
	}{
		"unknown key":   {[]Option{Set("topics.auto_creat", "false")}, "auto_creat"},
		"bad value":     {[]Option{Set("store.flush", "perhaps")}, "choose async or sync"},
		"locked folder": {[]Option{DataDir(Start(t).DataDir())}, "this process holds it already"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failing{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				Start(f, c.options...)
			}()
			<-ended
			if !strings.HasPrefix(f.said, "start a broker for this test: ") || !strings.Contains(f.said, c.want) {
				t.Errorf("the test failed with %q, want it to name %q", f.said, c.want)
			}
		})
	}
}
