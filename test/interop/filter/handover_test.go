package filter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/repo"
)

// TestFiltersHandover registers filters at weir and lets a Java broker start on the same directory. Java refuses its whole
// file for one filter that it doesn't like; so it must have loaded each, and written each again when it stopped. Then weir
// starts on what Java wrote.
func TestFiltersHandover(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	const version = 1_700_000_000_000
	texts := map[string]string{
		"g-number": "a > 5 AND b IN ('x','it''s') -- to the end", "g-text": "TAGS = '中文 \"\\' OR c IS NULL", "g-tail": "a = 1 AMD b = 2",
	}
	b := brokertest.Start(t)
	admin := client.New(client.Options{NameServers: []string{b.NameServer()}})
	for group, text := range texts {
		heartbeat(t, admin, b.Addr(), group, "Handover", text, version)
	}
	admin.Close()
	b.Stop()
	file := filepath.Join(b.DataDir(), "config", "consumerFilter.json")
	before := filtersOf(t, file)
	log := runJava(t, b.DataDir())
	after := filtersOf(t, file)
	for group, text := range texts {
		if before[group] == "" || before[group] != after[group] || !strings.Contains(after[group], text) {
			t.Errorf("%s: weir wrote %s, Java %s", group, before[group], after[group])
		}
		if !strings.Contains(log, "load exist consumer filter data: ConsumerFilterData[consumerGroup="+group+",") {
			t.Errorf("Java doesn't say that it loaded the filter of %s", group)
		}
	}
	if strings.Contains(log, "Bloom filter is changed") || strings.Contains(log, "load filter data error") {
		t.Error("Java doesn't like the file; see its log")
	}
	b.Restart()
	if again := filtersOf(t, file); len(again) != len(texts) {
		t.Errorf("after Java, weir has %q", again)
	}
}

// filtersOf returns each group's entry as text, but for what a broker's stop changes.
func filtersOf(t *testing.T, file string) map[string]string {
	var f struct {
		FilterDataByTopic map[string]struct {
			GroupFilterData map[string]struct {
				BloomFilterData                                  any
				BornTime, ClientVersion                          int64
				ConsumerGroup, Expression, ExpressionType, Topic string
			}
		}
	}
	readJSON(t, file, &f)
	out := map[string]string{}
	for _, topic := range f.FilterDataByTopic {
		for group, x := range topic.GroupFilterData {
			out[group] = fmt.Sprintf("%+v", x)
		}
	}
	return out
}

// runJava starts a Java broker on a store, stops it and returns its log.
func runJava(t *testing.T, store string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	jars, err := javamq.Install(ctx, javamq.Server4)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	port := ports.Must(t)
	p, err := javamq.Broker{Jars: jars, Home: home, Store: store, Name: "broker", Cluster: "DefaultCluster", Port: port,
		NameServer: fmt.Sprint("127.0.0.1:", port+1000), JVM: javamq.QuickStart,
		Properties: map[string]string{"enablePropertyFilter": "true", "mappedFileSizeCommitLog": fmt.Sprint(16 << 20)}}.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(ctx); err != nil && p.Running() {
		t.Fatalf("%v\n%s", err, p.Tail())
	}
	log, err := os.ReadFile(filepath.Join(home, "logs", "broker.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}
