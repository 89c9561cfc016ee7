package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/config"
)

// stopTimeout bounds a clean stop: draining, flushing, unregistering.
const stopTimeout = 30 * time.Second

// signalPause is how long after the first signal further ones mean nothing.
const signalPause = time.Second

func (a *app) serveCommand() *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:   "serve",
		Short: "run a broker, with a name server inside unless nameserver.enabled is false",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), &s, newBroker)
		},
	}
	s.flags(c.Flags())
	return c
}

// serve runs a server until a signal or a fault ends it.
func (a *app) serve(ctx context.Context, s *source, build func(*config.Config, *slog.Logger) (server, error)) error {
	began := time.Now()
	cfg, err := a.load(s)
	if err != nil {
		return err
	}
	log, err := a.log.logger(a.stderr, terminal(a.stderr))
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	first := firstStart(cfg.DataDir)
	srv, err := build(cfg, log)
	if err != nil {
		return err
	}
	if err := startInterruptibly(ctx, srv, signals); err != nil {
		return err
	}
	a.banner(cfg, srv.Addresses(), first)
	fmt.Fprintf(a.stdout, "ready in %d ms\n", time.Since(began).Milliseconds())

	fault := a.await(ctx, srv, log, signals, hangups)
	return errors.Join(fault, stop(srv, signals))
}

// await waits for what ends a server, and returns the fault if it is one. A hang-up ends nothing: it has the modules of
// filters loaded anew whose files have changed.
func (a *app) await(ctx context.Context, srv server, log *slog.Logger, signals, hangups <-chan os.Signal) error {
	for {
		select {
		case <-hangups:
			reload(ctx, srv, log)
		case sig := <-signals:
			log.Info("stopping", "signal", sig.String())
			return nil
		case fault := <-srv.Done():
			log.Error("stopping after a fault", "error", fault)
			return fault
		case <-ctx.Done():
			return nil
		}
	}
}

// reloader is a server that can load modules anew.
type reloader interface {
	ReloadModules(ctx context.Context) ([]string, error)
}

func reload(ctx context.Context, srv server, log *slog.Logger) {
	r, ok := srv.(reloader)
	if !ok {
		return
	}
	changed, err := r.ReloadModules(ctx)
	if err != nil {
		log.Error("modules that couldn't be loaded anew stay as they were", "error", err)
	}
	log.Info("looked for changed modules", "loaded", changed)
}

// startInterruptibly starts srv; a signal meanwhile ends the start.
func startInterruptibly(ctx context.Context, srv server, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- srv.Start(ctx) }()
	select {
	case err := <-started:
		return err
	case sig := <-signals:
		cancel()
		err := <-started
		if err == nil {
			err = stop(srv, signals)
		}
		return fmt.Errorf("start ended by signal %s: %w", sig, errors.Join(err, context.Canceled))
	}
}

// stop ends srv cleanly. A second signal, or more time than stopTimeout, ends the waiting.
func stop(srv server, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Stop(ctx) }()
	began := time.Now()
	for {
		select {
		case err := <-stopped:
			return err
		case sig := <-signals:
			if time.Since(began) < signalPause { // the same signal, sent to the process and to its group
				continue
			}
			return fmt.Errorf("signal %s again: stopped at once, what was not flushed is recovered at the next start", sig)
		}
	}
}
