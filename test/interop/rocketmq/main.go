// Command rocketmq runs the real RocketMQ 4.9.7 by hand, as the tests run it: from its published jars, fetched at the
// first use.
//
//	go run ./test/interop/rocketmq namesrv &
//	go run ./test/interop/rocketmq -store DIR broker &
//	go run ./test/interop/rocketmq mqadmin clusterList
//
// A server serves until it is interrupted; its first line says "ready", the address and the pid of its JVM, to which a
// kill -9 is a crash.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/proc"
)

// options are the flags.
type options struct {
	port                      int
	nameServer, name, cluster string
	store, home               string
	properties                properties
}

// properties collects -D KEY=VALUE.
type properties map[string]string

func (p properties) String() string { return "" }

func (p properties) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("want KEY=VALUE")
	}
	p[key] = value
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rocketmq:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o := options{properties: make(properties)}
	flags := flag.NewFlagSet("rocketmq [flags] namesrv|broker|mqadmin ARGS", flag.ExitOnError)
	flags.IntVar(&o.port, "port", 0, "port (default 9876 for namesrv, 10911 for broker, which also takes the ports 2 below and 1 above)")
	flags.StringVar(&o.nameServer, "namesrv", "127.0.0.1:9876", "address of the name server")
	flags.StringVar(&o.name, "name", "broker-a", "name of the broker")
	flags.StringVar(&o.cluster, "cluster", "DefaultCluster", "name of its cluster")
	flags.StringVar(&o.store, "store", "", "directory of the broker's store (default HOME/store)")
	flags.StringVar(&o.home, "home", "", "directory for logs and configuration (default under the system's temporary directory)")
	flags.Var(o.properties, "D", "property of the broker, KEY=VALUE; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return errors.New("name a command")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	jars, err := javamq.Install(ctx, javamq.Server4)
	if err != nil {
		return err
	}
	if o.home == "" {
		o.home = filepath.Join(os.TempDir(), "weir-rocketmq", flags.Arg(0))
	}
	switch flags.Arg(0) {
	case "namesrv":
		return o.serveNames(ctx, jars)
	case "broker":
		return o.serveBroker(ctx, jars)
	case "mqadmin":
		return o.mqadmin(ctx, jars, flags.Args()[1:])
	default:
		return fmt.Errorf("no command %q: choose namesrv, broker or mqadmin", flags.Arg(0))
	}
}

func (o *options) serveNames(ctx context.Context, jars *javamq.Jars) error {
	port := or(o.port, 9876)
	p, err := javamq.NameServer{Jars: jars, Home: o.home, Port: port}.Start(ctx)
	return untilEnd(ctx, p, port, err)
}

func (o *options) serveBroker(ctx context.Context, jars *javamq.Jars) error {
	port := or(o.port, 10911)
	if o.store == "" {
		o.store = filepath.Join(o.home, "store")
	}
	store, err := filepath.Abs(o.store)
	if err != nil {
		return err
	}
	p, err := javamq.Broker{
		Jars: jars, Home: o.home, Store: store, Name: o.name, Cluster: o.cluster, Port: port, NameServer: o.nameServer,
		Properties: o.properties,
	}.Start(ctx)
	return untilEnd(ctx, p, port, err)
}

// untilEnd waits for a signal, which it hands on, or for the server's own end.
func untilEnd(ctx context.Context, p *proc.Process, port int, err error) error {
	if err != nil {
		return err
	}
	fmt.Printf("ready 127.0.0.1:%d pid %d\n", port, p.Pid())
	select {
	case <-ctx.Done():
	case <-p.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return p.Stop(stopping)
}

func (o *options) mqadmin(ctx context.Context, jars *javamq.Jars, args []string) error {
	cmd, err := javamq.Program{
		Jars: jars, Home: o.home, Name: "mqadmin", Main: "org.apache.rocketmq.tools.command.MQAdminStartup",
		Args: args, Env: []string{"NAMESRV_ADDR=" + o.nameServer}, JVM: javamq.QuickStart,
	}.Command(ctx)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func or(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}
