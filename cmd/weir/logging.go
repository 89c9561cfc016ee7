package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"
)

// logOptions say how a server logs.
type logOptions struct {
	level  string
	format string
}

func (l *logOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&l.level, "log-level", "info", "what servers log: debug, info, warn or error")
	f.StringVar(&l.format, "log-format", "auto", "how servers log: text, json, or auto: text on a terminal, else json")
}

// logger makes the logger of a server. It writes to w, for which people says whether a terminal is behind it.
func (l *logOptions) logger(w io.Writer, people bool) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(l.level))); err != nil {
		return nil, usage(fmt.Errorf("--log-level %q: want debug, info, warn or error", l.level))
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	switch format := l.format; {
	case format == "json", format == "auto" && !people:
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	case format == "text", format == "auto":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	default:
		return nil, usage(fmt.Errorf("--log-format %q: want text, json or auto", format))
	}
}

// readable writes durations with their unit; JSON would have them as bare nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
