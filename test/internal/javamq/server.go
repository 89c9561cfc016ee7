package javamq

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/weirmq/weir/test/internal/proc"
)

// NameServer says how to run Java's name server.
type NameServer struct {
	Jars *Jars
	Home string
	Port int
	JVM  []string
}

// Start runs it and returns once it serves.
func (n NameServer) Start(ctx context.Context) (*proc.Process, error) {
	conf, err := writeProperties(n.Home, "namesrv.conf", map[string]string{
		"listenPort":      fmt.Sprint(n.Port),
		"kvConfigPath":    filepath.Join(n.Home, "kvConfig.json"),
		"configStorePath": filepath.Join(n.Home, "namesrv.conf"),
	})
	if err != nil {
		return nil, err
	}
	return serve(ctx, Program{
		Jars: n.Jars, Home: n.Home, Name: "namesrv", JVM: append([]string{"-Xmx128m"}, n.JVM...),
		Main: "org.apache.rocketmq.namesrv.NamesrvStartup", Args: []string{"-c", conf},
	})
}

// Broker says how to run Java's broker.
type Broker struct {
	Jars       *Jars
	Home       string
	Store      string // the store's root directory
	Name       string
	Cluster    string
	Port       int    // it also takes Port-2, its fast port, and Port+1, its replication port
	NameServer string // addresses separated by semicolons
	JVM        []string

	// Properties are lines of broker.conf which win over the ones written here.
	Properties map[string]string
}

// Start runs it and returns once it serves. It registers with its name servers before that.
func (b Broker) Start(ctx context.Context) (*proc.Process, error) {
	properties := map[string]string{
		"brokerName":        b.Name,
		"brokerClusterName": b.Cluster,
		"brokerId":          "0",
		"brokerIP1":         "127.0.0.1",
		"brokerIP2":         "127.0.0.1",
		"listenPort":        fmt.Sprint(b.Port),
		"haListenPort":      fmt.Sprint(b.Port + 1),
		"namesrvAddr":       b.NameServer,
		"storePathRootDir":  b.Store,
		// Both have to be named, the second does not follow the first.
		"storePathCommitLog": filepath.Join(b.Store, "commitlog"),
		// Fixtures must not expire, nor a rather full disk stop a test.
		"fileReservedTime":      "876000",
		"diskMaxUsedSpaceRatio": "95",
		// A busy machine must not make it refuse what it would take on a quiet one.
		"waitTimeMillsInSendQueue":    "5000",
		"osPageCacheBusyTimeOutMills": "5000",
	}
	for key, value := range b.Properties {
		properties[key] = value
	}
	conf, err := writeProperties(b.Home, "broker.conf", properties)
	if err != nil {
		return nil, err
	}
	return serve(ctx, Program{
		Jars: b.Jars, Home: b.Home, Name: "broker", JVM: b.JVM,
		Main: "org.apache.rocketmq.broker.BrokerStartup", Args: []string{"-c", conf},
	})
}

func writeProperties(home, name string, properties map[string]string) (string, error) {
	keys := make([]string, 0, len(properties))
	for key := range properties {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "%s=%s\n", key, properties[key])
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	path := filepath.Join(home, name)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
