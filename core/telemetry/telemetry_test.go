package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

func settings(log io.Writer) Settings {
	return Settings{Config: DefaultConfig(), Logger: slog.New(slog.NewTextHandler(log, nil)), Cluster: "c1", Broker: "b1"}
}

func start(t *testing.T, set Settings) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if err := tel.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := tel.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return tel
}

// count makes a counter that has counted.
func count(t *testing.T, tel *Telemetry, n int64, labels ...attribute.KeyValue) {
	t.Helper()
	c, err := tel.MeterProvider().Meter("test").Int64Counter("weir_tests_total", metric.WithDescription("tests"))
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), n, metric.WithAttributes(labels...))
}

func get(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestOffByDefault(t *testing.T) {
	var nothing *Telemetry
	if nothing.MeterProvider() == nil {
		t.Error("a nil Telemetry has no provider")
	}
	tel := start(t, settings(io.Discard))
	count(t, tel, 1)
	if tel.Enabled() || tel.Addr() != nil {
		t.Error("enabled, although nobody asked for metrics")
	}
}

func TestPrometheus(t *testing.T) {
	set := settings(io.Discard)
	set.Config.Prometheus.Listen = "127.0.0.1:0"
	tel := start(t, set)
	count(t, tel, 41, attribute.String("topic", `a"b`))
	count(t, tel, 1, attribute.String("topic", `a"b`))
	base := "http://" + tel.Addr().String()
	status, text := get(t, http.MethodGet, base+"/metrics")
	want := `weir_tests_total{cluster="c1",node_id="b1",node_type="broker",topic="a\"b"} 42` + "\n"
	if status != http.StatusOK || !strings.Contains(text, want) {
		t.Errorf("%d %s\nwant %s", status, text, want)
	}
	for _, name := range []string{"go_sched_pauses_total_gc_seconds_count ", "go_memstats_heap_inuse_bytes ", "go_goroutines "} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, r := range []struct {
		method, path string
		status       int
	}{{http.MethodPost, "/metrics", http.StatusMethodNotAllowed}, {http.MethodGet, "/", http.StatusNotFound}} {
		if status, _ := get(t, r.method, base+r.path); status != r.status {
			t.Errorf("%s %s: %d, want %d", r.method, r.path, status, r.status)
		}
	}
}

func TestCardinality(t *testing.T) {
	set := settings(io.Discard)
	set.Config.Prometheus.Listen, set.Config.CardinalityMax = "127.0.0.1:0", 3
	tel := start(t, set)
	for _, topic := range []string{"a", "b", "c", "d", "e"} {
		count(t, tel, 1, attribute.String("topic", topic))
	}
	_, text := get(t, http.MethodGet, "http://"+tel.Addr().String()+"/metrics")
	if n := strings.Count(text, "weir_tests_total{"); n != 3 || !strings.Contains(text, `otel_metric_overflow="true"} 3`) {
		t.Errorf("%d series, want 3 with one for three topics that are too many:\n%s", n, text)
	}
}

func TestListenTaken(t *testing.T) {
	set := settings(io.Discard)
	set.Config.Prometheus.Listen = "127.0.0.1:0"
	first := start(t, set)
	set.Config.Prometheus.Listen = first.Addr().String()
	second, err := New(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "listen for Prometheus (telemetry.prometheus.listen): ") {
		t.Errorf("error %v", err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOTLP has a collector that says no first, and gets the last metrics when the broker stops.
func TestOTLP(t *testing.T) {
	type post struct {
		path, auth string
		body       []byte
	}
	posts := make(chan post, 100)
	refuse := make(chan struct{}, 1)
	refuse <- struct{}{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case <-refuse:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.Header().Set("Content-Type", "application/x-protobuf")
		}
		posts <- post{r.URL.Path, r.Header.Get("Authorization"), b}
	}))
	defer collector.Close()
	var log bytes.Buffer // read after Stop
	set := settings(&log)
	set.Config.OTLP.Endpoint, set.Config.OTLP.Interval = collector.URL+"/", time.Second
	set.Config.OTLP.Headers = map[string]string{"Authorization": "Bearer x"}
	tel, err := New(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	count(t, tel, 42)
	<-posts // refused
	if err := tel.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := <-posts
	if last.path != "/v1/metrics" || last.auth != "Bearer x" || !bytes.Contains(last.body, []byte("weir_tests_total")) {
		t.Errorf("posted to %s, %q, %q", last.path, last.auth, last.body)
	}
	for _, want := range []string{"metrics can't be sent", "metrics are sent again"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log says %q not once:\n%s", want, &log)
		}
	}
}

func TestConfig(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"prometheus.listen": func(c *Config) { c.Prometheus.Listen = "9100" },
		"otlp.endpoint":     func(c *Config) { c.OTLP.Endpoint = "collector:4318" },
		"otlp.interval":     func(c *Config) { c.OTLP.Interval = time.Millisecond },
		"otlp.timeout":      func(c *Config) { c.OTLP.Timeout = 0 },
		"cardinality_max":   func(c *Config) { c.CardinalityMax = 0 },
	} {
		c := DefaultConfig()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: error %v", field, err)
		}
	}
}
