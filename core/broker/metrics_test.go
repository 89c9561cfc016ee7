package broker

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// ofAll are the labels that all metrics have.
var ofAll = regexp.MustCompile(`(cluster|node_id|node_type)="[^"]*",?`)

// scrape returns the metrics as lines without the labels that all have.
func (n *node) scrape() string {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, "http://"+n.b.Addresses().Metrics+"/metrics", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		n.t.Fatalf("%d %v %s", resp.StatusCode, err, b)
	}
	http.DefaultClient.CloseIdleConnections()
	text := ofAll.ReplaceAllString(string(b), "")
	return strings.NewReplacer(",}", "}", "{}", "").Replace(text)
}

// TestMetrics looks for RocketMQ 5's names, labels and right values after some traffic.
func TestMetrics(t *testing.T) {
	w := newWorld()
	w.sec.Telemetry.Prometheus.Listen = "127.0.0.1:0"
	n := w.start(t)
	defer n.stop()
	n.heartbeat(newSession("10.0.0.1:1"), "c1")
	for range 3 {
		n.mustSend("T", "body")
	}
	if p := n.pull("g", "T", 0, 0); p.Code != message.Success || p.Records.Count != 3 {
		t.Fatalf("pulled %v %d", p.Code, p.Records.Count)
	}
	if err := n.h.Offsets.CommitOffset(t.Context(), caller(newSession("10.0.0.1:1")), "g", message.QueueKey{Topic: "T"}, 1); err != nil {
		t.Fatal(err)
	}
	unknown, closed, large := newSend("U", "x"), newSend(message.TopicSchedule, "x"), newSend("T", strings.Repeat("x", 5<<20))
	unknown.DefaultTopic = []byte("nothing")
	batch := newSend("T", "no batch")
	batch.Batch = true
	n.send(newSession("10.0.0.1:1"), unknown, closed, large, batch)
	nobody := &transport.ReplyMessage{Session: newSession("10.0.0.1:1"), Send: newSend("R", "x")}
	n.h.Replier.Reply(t.Context(), nobody)
	if nobody.Code != message.SystemError {
		t.Errorf("a reply to nobody: %v", nobody.Code)
	}
	text := n.scrape()
	for _, want := range []string{
		`rocketmq_broker_permission 6`,
		`rocketmq_messages_in_total{is_system="false",topic="T"} 3`,
		`rocketmq_throughput_in_total{is_system="false",topic="T"} 12`,
		`rocketmq_messages_out_total{consumer_group="g",is_retry="false",is_system="false",topic="T"} 3`,
		`rocketmq_consumer_lag_messages{consumer_group="g",is_retry="false",is_system="false",topic="T"} 2`,
		`rocketmq_consumer_connections{consumer_group="g",`,
		`rocketmq_storage_flush_behind_bytes{storage_medium="disk",storage_type="local"} `,
		`weir_pulls_held 0`,
		`weir_timers_waiting 0`,
		`weir_messages_refused_total{cause="missing"} 1`,
		`weir_messages_refused_total{cause="permission"} 1`,
		`weir_messages_refused_total{cause="illegal"} 2`,
		`weir_messages_refused_total{cause="client"} 1`,
		`weir_messages_refused_total{cause="disk"} 0`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestNoMetricsByDefault has nobody listen.
func TestNoMetricsByDefault(t *testing.T) {
	n := newWorld().start(t)
	if at := n.b.Addresses().Metrics; at != "" {
		t.Errorf("metrics at %s", at)
	}
}
