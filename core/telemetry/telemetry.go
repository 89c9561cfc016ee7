// Package telemetry carries the broker's metrics outside: to whoever fetches GET /metrics in Prometheus' format, and to an
// OpenTelemetry collector. It is the only user of the OpenTelemetry SDK; everybody else has the API, a metric.MeterProvider.
//
// # What it promises
//
// A broker whose configuration asks for no metrics pays nothing for them: its provider does nothing. Otherwise metrics are
// read when somebody fetches or the interval has passed, and never by a message on its way. A collector that doesn't answer
// costs a log line, not a broker. Labels are bounded by cardinality_max.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Settings is what a Telemetry is made of. All fields are set.
type Settings struct {
	Config Config
	Logger *slog.Logger
	// Cluster and Broker become the labels that RocketMQ 5 gives every metric: cluster, node_type and node_id.
	Cluster, Broker string
}

// pauses is Go's own metric of how long each collection of garbage has stopped everything, waiting for it included.
var pauses = regexp.MustCompile(`^/sched/pauses/total/gc:seconds$`)

// Telemetry is a MeterProvider and its ways out.
type Telemetry struct {
	set      Settings
	provider metric.MeterProvider
	sdk      *sdk.MeterProvider // nil when nothing is measured
	registry *prometheus.Registry
	listener net.Listener
	server   *http.Server
	done     chan struct{} // closed when the server has ended
}

// New makes a Telemetry. It opens nothing until Start.
func New(ctx context.Context, set Settings) (*Telemetry, error) {
	t := &Telemetry{set: set, provider: noop.NewMeterProvider()}
	c := &set.Config
	if c.Prometheus.Listen == "" && c.OTLP.Endpoint == "" {
		return t, nil
	}
	labels := []attribute.KeyValue{attribute.String("cluster", set.Cluster), attribute.String("node_type", "broker"), attribute.String("node_id", set.Broker)}
	options := []sdk.Option{
		sdk.WithResource(resource.NewSchemaless(append(labels, attribute.String("service.name", "weir"), attribute.String("service.instance.id", set.Broker))...)),
		sdk.WithCardinalityLimit(c.CardinalityMax),
	}
	if c.Prometheus.Listen != "" {
		t.registry = prometheus.NewRegistry()
		t.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
			collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: pauses})))
		reader, err := otelprom.New(otelprom.WithRegisterer(t.registry), otelprom.WithoutScopeInfo(), otelprom.WithoutTargetInfo(),
			otelprom.WithResourceAsConstantLabels(attribute.NewAllowKeysFilter("cluster", "node_type", "node_id")))
		if err != nil {
			return nil, fmt.Errorf("make metrics for Prometheus: %w", err)
		}
		options = append(options, sdk.WithReader(reader))
	}
	if c.OTLP.Endpoint != "" {
		exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(strings.TrimSuffix(c.OTLP.Endpoint, "/")+"/v1/metrics"),
			otlpmetrichttp.WithHeaders(c.OTLP.Headers), otlpmetrichttp.WithTimeout(c.OTLP.Timeout))
		if err != nil {
			return nil, fmt.Errorf("make metrics for %s: %w", c.OTLP.Endpoint, err)
		}
		options = append(options, sdk.WithReader(sdk.NewPeriodicReader(&reporting{Exporter: exporter, log: set.Logger, to: c.OTLP.Endpoint},
			sdk.WithInterval(c.OTLP.Interval), sdk.WithTimeout(c.OTLP.Timeout))))
	}
	t.sdk = sdk.NewMeterProvider(options...)
	t.provider = t.sdk
	return t, nil
}

// MeterProvider is what instruments are made with. It is never nil; that of a nil Telemetry measures nothing.
func (t *Telemetry) MeterProvider() metric.MeterProvider {
	if t == nil {
		return noop.NewMeterProvider()
	}
	return t.provider
}

// Enabled says whether anybody gets the metrics.
func (t *Telemetry) Enabled() bool { return t.sdk != nil }

// Bounds of the listener. A scrape of 50,000 series takes some hundred ms.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	headerBytesMax = 16 << 10
	scrapesMax     = 4 // at a time
)

// Start listens, when there is somewhere to.
func (t *Telemetry) Start(ctx context.Context) error {
	if t.registry == nil {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", t.set.Config.Prometheus.Listen)
	if err != nil {
		return fmt.Errorf("listen for Prometheus (telemetry.prometheus.listen): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(t.set.Logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: scrapesMax, EnableOpenMetrics: true,
	}))
	t.listener, t.done = l, make(chan struct{})
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
		MaxHeaderBytes: headerBytesMax, ErrorLog: slog.NewLogLogger(t.set.Logger.Handler(), slog.LevelDebug)}
	go func() {
		defer close(t.done)
		if err := t.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.set.Logger.Error("metrics can't be fetched any more", "error", err)
		}
	}()
	t.set.Logger.Info("metrics", "at", "http://"+l.Addr().String()+"/metrics")
	return nil
}

// Addr is where metrics are fetched, nil when nowhere.
func (t *Telemetry) Addr() net.Addr {
	if t.listener == nil {
		return nil
	}
	return t.listener.Addr()
}

// Stop sends what was not sent, as far as ctx allows, and ends the listener. It works without Start, and twice.
func (t *Telemetry) Stop(ctx context.Context) error {
	if t.sdk == nil {
		return nil
	}
	if t.server != nil {
		if err := t.server.Shutdown(ctx); err != nil {
			_ = t.server.Close()
		}
		<-t.done
	}
	provider := t.sdk
	t.sdk = nil
	if err := provider.Shutdown(ctx); err != nil {
		t.set.Logger.Warn("the last metrics weren't sent", "error", err)
	}
	return nil
}
