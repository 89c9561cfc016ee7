package suite

import (
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/sut"
)

const clusterName = "SuiteCluster"

// cluster is two masters.
type cluster struct {
	kind    sut.Kind
	brokers []*sut.Broker
}

// startCluster starts two brokers with empty stores and RocketMQ's delay levels. Both ask for undecided transactions early, and
// Java's refuse nothing because the machine is busy: the tests count what they sent. Java's index files are small, as
// a test of one class would fill the disk otherwise.
func startCluster(t *testing.T, kind sut.Kind) *cluster {
	options := sut.Options{
		Kind:        kind,
		Cluster:     clusterName,
		SegmentSize: 100 << 20,
		WeirSettings: map[string]string{
			"SCHEDULE__LEVELS":             levels,
			"TRANSACTIONS__TIMEOUT":        "1s",
			"TRANSACTIONS__CHECK_INTERVAL": "5s",
		},
		JavaProperties: map[string]string{
			"messageDelayLevel":        levels,
			"transactionTimeOut":       "1000",
			"transactionCheckInterval": "5000",
			"maxHashSlotNum":           "4000",
			"maxIndexNum":              "1000",
		},
	}
	c := &cluster{kind: kind}
	for _, name := range []string{"broker-a", "broker-b"} {
		options.Name = name
		if len(c.brokers) > 0 {
			options.NameServer = c.brokers[0].NameServer()
		}
		c.brokers = append(c.brokers, sut.Start(t, options))
	}
	return c
}

const levels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// flags tell the tests' JVM where the cluster is.
func (c *cluster) flags() []string {
	var names, addresses []string
	for _, b := range c.brokers {
		names = append(names, b.Name())
		addresses = append(addresses, b.Addr())
	}
	return []string{
		"-Dsuite.namesrv=" + c.brokers[0].NameServer(),
		"-Dsuite.cluster=" + clusterName,
		"-Dsuite.brokers=" + strings.Join(names, ","),
		"-Dsuite.addresses=" + strings.Join(addresses, ","),
	}
}
