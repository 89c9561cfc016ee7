package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// defaultNameServer is asked when nothing else is said.
const defaultNameServer = "127.0.0.1:9876"

// connection says how a cluster is reached.
type connection struct {
	nameServers string
	timeout     time.Duration
	tls         tlsFlags
	encrypted   bool // what the flags came to
}

// clientCommand gives a command, and those below it, the flags of working with a cluster.
func (a *app) clientCommand(c *cobra.Command) *cobra.Command {
	c.GroupID = "client"
	a.clientFlags(c)
	return c
}

// clientFlags gives a command that isn't in the group of clients the same flags.
func (a *app) clientFlags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVarP(&a.connect.nameServers, "nameserver", "n", "",
		"name servers as `HOST:PORT`, several with commas (default $WEIR_NAMESERVER_ADDRS, $NAMESRV_ADDR, else "+defaultNameServer+")")
	f.DurationVar(&a.connect.timeout, "timeout", 5*time.Second, "how long to wait for each answer")
	a.connect.tls.flags(f)
}

// addrs lists the name servers to ask.
func (a *app) addrs() ([]string, error) {
	list := a.connect.nameServers
	for _, name := range []string{"WEIR_NAMESERVER_ADDRS", "NAMESRV_ADDR"} {
		if list == "" {
			list = a.getenv(name)
		}
	}
	if list == "" {
		list = defaultNameServer
	}
	var out []string
	for _, addr := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if !strings.Contains(addr, ":") {
			addr += ":9876"
		}
		host, port, err := splitAddr(addr)
		if err != nil {
			return nil, usage(fmt.Errorf("--nameserver %q: want HOST:PORT", addr))
		}
		out = append(out, host+":"+port)
	}
	if len(out) == 0 {
		return nil, usage(errors.New("--nameserver names no address"))
	}
	return out, nil
}

// client returns a client of the cluster. The caller closes it.
func (a *app) client() (*client.Client, error) {
	addrs, err := a.addrs()
	if err != nil {
		return nil, err
	}
	secure, err := a.tlsConfig()
	if err != nil {
		return nil, err
	}
	a.connect.encrypted = secure != nil
	return client.New(client.Options{NameServers: addrs, Timeout: a.connect.timeout, TLS: secure}), nil
}

// with runs f with a client, bounded by the timeout for each answer and a little for what f does.
func (a *app) with(ctx context.Context, f func(context.Context, *client.Client) error) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return a.explain(f(ctx, c))
}

// explain turns what the protocol says into what a person can act on.
func (a *app) explain(err error) error {
	if said := explainTLS(err, a.connect.encrypted); said != nil {
		return said
	}
	var gone *client.UnreachableError
	if errors.As(err, &gone) {
		return &reason{err: err, code: exitUnreachable, text: fmt.Sprintf(
			"no name server answers at %s (%s)\nIs weir running? Start it with 'weir', or say where it is with --nameserver HOST:PORT.",
			strings.Join(gone.NameServers, ", "), firstLine(gone.Err))}
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && dial.Addr != nil {
		return &reason{err: err, code: exitUnreachable, text: fmt.Sprintf(
			"the broker at %s can't be reached (%s)\nThis is the address that the name server gives to clients. If the broker runs somewhere else, set its broker.advertise.",
			dial.Addr, dial.Err)}
	}
	return err
}

// reason is an error with a text for people and an exit code of its own.
type reason struct {
	err  error
	code int
	text string
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// firstLine is the shortest telling part of an error: the cause at the end of the chain.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.LastIndex(text, "dial tcp"); i >= 0 {
		if _, cause, ok := strings.Cut(text[i:], ": "); ok {
			return cause
		}
	}
	return text
}

// unknownTopic says that a topic isn't there, and what to do.
func unknownTopic(topic string, err error) error {
	var said *message.Error
	if errors.As(err, &said) && said.Code == message.TopicNotExist {
		return &reason{err: err, code: exitNotFound, text: fmt.Sprintf(
			"there is no topic %q\nMake it with 'weir topic create %s', or see what there is with 'weir topic list'.", topic, topic)}
	}
	return err
}
