package broker

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// settings shows the configuration under RocketMQ's property names, for tools that ask for it, and holds what may be
// changed while the broker runs.
type settings struct {
	fixed      map[string]string
	permission atomic.Pointer[permission]
	version    atomic.Pointer[transport.DataVersion]

	mu sync.Mutex // held while either is changed
}

// permission is what the broker as a whole allows.
type permission struct {
	perm    message.Perm
	changes int64 // how often it was changed since the start
	changed int64 // when it was last, ms; 0 for never
}

func newSettings(cfg *config.Config, sec *sections, compilers queue.Compilers, now time.Time) *settings {
	flush := "ASYNC_FLUSH"
	if sec.Store.Flush == store.FlushSync {
		flush = "SYNC_FLUSH"
	}
	_, properties := compilers.Compiler(filter.TypeSQL92)
	hours := make([]string, len(sec.Store.DeleteAt))
	for i, h := range sec.Store.DeleteAt {
		hours[i] = fmt.Sprintf("%02d", h)
	}
	s := &settings{fixed: map[string]string{
		"brokerName":                     cfg.Broker.Name,
		"brokerClusterName":              cfg.Broker.Cluster,
		"brokerId":                       "0",
		"brokerRole":                     "ASYNC_MASTER",
		"namesrvAddr":                    strings.Join(cfg.Cluster.Nameservers, ";"),
		"flushDiskType":                  flush,
		"fileReservedTime":               strconv.Itoa(int(sec.Store.ReservedTime / time.Hour)),
		"deleteWhen":                     strings.Join(hours, ";"),
		"mappedFileSizeCommitLog":        strconv.FormatInt(int64(sec.Store.SegmentSize), 10),
		"mappedFileSizeConsumeQueue":     strconv.Itoa(sec.Store.ConsumeQueueEntries * message.EntrySize),
		"maxMessageSize":                 strconv.FormatInt(int64(sec.Store.MaxMessageSize), 10),
		"storePathRootDir":               cfg.DataDir,
		"autoCreateTopicEnable":          strconv.FormatBool(sec.Topics.AutoCreate),
		"defaultTopicQueueNums":          strconv.Itoa(int(sec.Topics.DefaultQueues)),
		"autoCreateSubscriptionGroup":    strconv.FormatBool(sec.Groups.AutoCreate),
		"enablePropertyFilter":           strconv.FormatBool(properties),
		"enableConsumeQueueExt":          strconv.FormatBool(sec.Store.ConsumeQueueExt),
		"enableCalcFilterBitMap":         strconv.FormatBool(sec.Store.ConsumeQueueExt && properties),
		"rejectTransactionMessage":       strconv.FormatBool(!sec.Transactions.Enabled),
		"transactionTimeOut":             strconv.FormatInt(sec.Transactions.Timeout.Milliseconds(), 10),
		"transactionCheckInterval":       strconv.FormatInt(sec.Transactions.CheckInterval.Milliseconds(), 10),
		"transactionCheckMax":            strconv.Itoa(sec.Transactions.CheckMax),
		"messageIndexEnable":             strconv.FormatBool(sec.Store.Index.Enabled),
		"maxHashSlotNum":                 strconv.Itoa(sec.Store.Index.Slots),
		"maxIndexNum":                    strconv.Itoa(sec.Store.Index.Entries),
		"longPollingEnable":              "true",
		"slaveReadEnable":                "false",
		"diskMaxUsedSpaceRatio":          strconv.Itoa(int(sec.Store.DiskMaxUsed * 100)),
		"notifyConsumerIdsChangedEnable": "true",
		// What mqadmin exportConfigs takes for granted.
		"filterServerNums":  "0",
		"messageDelayLevel": sec.Schedule.Levels,
		"msgTraceTopicName": "RMQ_SYS_TRACE_TOPIC",
		"traceOn":           "true",
		"traceTopicEnable":  "false",
		"useTLS":            "false",
	}}
	s.permission.Store(&permission{perm: message.PermRW})
	s.version.Store(&transport.DataVersion{Timestamp: now.UnixMilli()})
	return s
}

// addNameServer puts the embedded name server before the others. It is called before anybody can ask.
func (s *settings) addNameServer(address string) {
	list := []string{address}
	if others := s.fixed["namesrvAddr"]; others != "" {
		list = append(list, others)
	}
	s.fixed["namesrvAddr"] = strings.Join(list, ";")
}

func (s *settings) perm() message.Perm { return s.permission.Load().perm }

// table returns all settings. advertised is what clients are told.
func (s *settings) table(advertised netip.AddrPort) map[string]string {
	out := make(map[string]string, len(s.fixed)+2)
	for k, v := range s.fixed {
		out[k] = v
	}
	out["brokerPermission"] = strconv.Itoa(int(s.perm()))
	out["brokerIP1"] = advertised.Addr().String()
	out["listenPort"] = strconv.Itoa(int(advertised.Port()))
	return out
}

// update changes settings, all or none.
func (s *settings) update(values map[string]string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := *s.permission.Load()
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if k != "brokerPermission" {
			return &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf(
				"%s can't be changed while the broker runs; only brokerPermission can. Set the others in broker.yaml and restart", k)}
		}
		n, err := strconv.ParseInt(strings.TrimSpace(values[k]), 10, 32)
		if err != nil || n < 0 || n > int64(message.PermRW|message.PermInherit) {
			return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(
				"brokerPermission %q: want 6 for read and write, 4 for read only, 2 for write only", values[k])}
		}
		p.perm = message.Perm(n)
	}
	p.changes, p.changed = p.changes+1, now.UnixMilli()
	s.permission.Store(&p)
	v := s.version.Load()
	s.version.Store(&transport.DataVersion{Counter: v.Counter + 1, Timestamp: now.UnixMilli()})
	return nil
}
