package config

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/naming"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// Config is the whole configuration of one process, checked.
type Config struct {
	DataDir    string     `yaml:"data_dir" doc:"The store: RocketMQ's storePathRootDir itself. Files that are not RocketMQ's live below data_dir/weir only. Relative to the working directory."`
	Broker     Broker     `yaml:"broker" doc:"Who this broker is."`
	NameServer NameServer `yaml:"nameserver" doc:"The name server inside this process."`
	Cluster    Cluster    `yaml:"cluster" doc:"What this broker belongs to."`

	// Filters, Auth and Transports are what runs, in the order of the service section.
	Filters    []Instance `yaml:"-"`
	Auth       Instance   `yaml:"-"`
	Transports []Instance `yaml:"-"`

	// Sections are those of other owners, decoded.
	Sections []Section `yaml:"-"`

	// File is the file that was read, or empty.
	File string `yaml:"-"`
	// Warnings are for the log: what was ignored, and what is configured but not run.
	Warnings []string `yaml:"-"`

	values []Value
}

// Broker says who this broker is to clients and name servers.
type Broker struct {
	Name      string `yaml:"name" doc:"Name in routes. Brokers of one name are a master and its replicas. Changing it moves clients to other queues, so choose it once."`
	Cluster   string `yaml:"cluster" doc:"Name of the cluster."`
	Advertise string `yaml:"advertise" doc:"Address that clients are told to connect to: host, host:port, or auto to work it out from the listen address and the network interfaces."`
}

// AdvertiseAuto is the advertised address that is worked out at start.
const AdvertiseAuto = "auto"

// Validate checks names as RocketMQ does, because they end up in topic names.
func (b *Broker) Validate() error {
	if err := message.CheckTopic(b.Name); err != nil {
		return plugin.Invalid("name", "%s", remark(err))
	}
	if err := message.CheckTopic(message.ReplyTopic(b.Cluster)); err != nil || b.Cluster == "" {
		return plugin.Invalid("cluster", "%q can't be a part of a topic name; use up to 115 of a-z A-Z 0-9 %% | - _", b.Cluster)
	}
	if b.Advertise == AdvertiseAuto || b.Advertise == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(b.Advertise)
	if err != nil {
		host, port = strings.Trim(b.Advertise, "[]"), "1"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" || strings.ContainsAny(host, " /;,") {
		return plugin.Invalid("advertise", "%q is no address that clients could connect to; want auto, host or host:port", b.Advertise)
	}
	return nil
}

func remark(err error) string {
	if e, ok := err.(*message.Error); ok { //nolint:errorlint // the checks of core/message return it bare
		return e.Remark
	}
	return err.Error()
}

// NameServer configures the embedded name server.
type NameServer struct {
	Enabled bool   `yaml:"enabled" doc:"Run a name server in this process; this broker registers with it directly."`
	Listen  string `yaml:"listen" doc:"Address on which clients and other brokers reach it."`

	Naming naming.Config `yaml:",inline"`
}

// Validate checks the address and the bounds.
func (n *NameServer) Validate() error {
	if !n.Enabled && n.Listen == "" {
		return nil
	}
	var errs []error
	if err := CheckListen(n.Listen); err != nil {
		errs = append(errs, plugin.Invalid("listen", "%s", err))
	}
	for _, bound := range []struct {
		key string
		n   int
	}{{"brokers_max", n.Naming.BrokersMax}, {"topics_max", n.Naming.TopicsMax}, {"kv_max", n.Naming.KVMax}} {
		if bound.n < 1 {
			errs = append(errs, plugin.Invalid(bound.key, "%d is less than 1", bound.n))
		}
	}
	return errors.Join(errs...)
}

// Cluster configures what is outside this process.
type Cluster struct {
	Nameservers []string `yaml:"nameservers" doc:"Further name servers to register with, RocketMQ's or weir's, as host:port."`
}

// Validate checks the addresses.
func (c *Cluster) Validate() error {
	for i, a := range c.Nameservers {
		host, port, err := net.SplitHostPort(a)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 1 || n > 65535 || host == "" {
			return plugin.Invalid("nameservers["+strconv.Itoa(i)+"]", "%q is not host:port, such as 10.0.0.7:9876", a)
		}
	}
	return nil
}

// CheckListen checks an address to listen on: host:port, where host may be empty and port may be 0.
func CheckListen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return &net.AddrError{Err: "want host:port, such as 127.0.0.1:9876 or 0.0.0.0:9876, not", Addr: strconv.Quote(addr)}
	}
	return nil
}

// service lists what runs, as type/name.
type service struct {
	Auth       string   `yaml:"auth" doc:"The auth plugin that every request passes."`
	Filters    []string `yaml:"filters" doc:"The filter plugins that run."`
	Transports []string `yaml:"transports" doc:"The transport plugins that run, in the order of their start. They stop in reverse."`
}

// Default returns the configuration of an empty file, without the sections of Options and without plugins.
func Default() *Config {
	return &Config{
		DataDir:    "./data",
		Broker:     Broker{Name: "broker-a", Cluster: "DefaultCluster", Advertise: AdvertiseAuto},
		NameServer: NameServer{Enabled: true, Listen: "127.0.0.1:9876", Naming: naming.DefaultConfig()},
	}
}

// Sets are the compiled-in plugins of each kind.
type Sets struct {
	Filters    plugin.Set[filter.Factory]
	Auth       plugin.Set[auth.Factory]
	Transports plugin.Set[transport.Factory]
}

// Instance is one plugin that is to run.
type Instance struct {
	ID plugin.ID
	// Config is a value of the type that the factory's DefaultConfig returns.
	Config any
}

// Validate checks what no section owns.
func (c *Config) Validate() error {
	if c.DataDir == "" {
		return plugin.Invalid("data_dir", "is empty; name the directory of the store")
	}
	return nil
}
