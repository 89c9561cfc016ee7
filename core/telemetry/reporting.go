package telemetry

import (
	"context"
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// reporting logs that a collector can't be reached, and that it can again: once each.
type reporting struct {
	sdk.Exporter
	log  *slog.Logger
	to   string
	down bool // Export isn't called concurrently
}

// Export implements the SDK's Exporter.
func (r *reporting) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := r.Exporter.Export(ctx, m)
	switch {
	case err != nil && !r.down:
		r.log.Warn("metrics can't be sent; the next interval tries again", "to", r.to, "error", err)
	case err == nil && r.down:
		r.log.Info("metrics are sent again", "to", r.to)
	}
	r.down = err != nil
	return nil // it is logged here; the SDK would log every one
}
