package broker

import (
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/telemetry"
	"github.com/weirmq/weir/core/topic"
	"github.com/weirmq/weir/core/transaction"
)

// sections are the parts of broker.yaml that belong to the packages of core which do the work.
type sections struct {
	Store        store.Config
	Topics       topic.Config
	Groups       topic.GroupsConfig
	Queues       queue.Config
	Schedule     schedule.Config
	Transactions transaction.Config
	Telemetry    telemetry.Config
}

func defaultSections() sections {
	return sections{
		Store: store.DefaultConfig(), Topics: topic.DefaultConfig(), Groups: topic.DefaultGroupsConfig(), Queues: queue.DefaultConfig(),
		Schedule: schedule.DefaultConfig(), Transactions: transaction.DefaultConfig(), Telemetry: telemetry.DefaultConfig(),
	}
}

// Sections lists the sections for config.Load, with their defaults. Each call returns new ones.
func Sections() []config.Section {
	s := defaultSections()
	return []config.Section{
		{Name: "store", Doc: "The commit log and its consume queues: RocketMQ's files.", Target: &s.Store},
		{Name: "topics", Doc: "How topics come into being.", Target: &s.Topics},
		{Name: "groups", Doc: "How subscription groups come into being.", Target: &s.Groups},
		{Name: "queues", Doc: "Pulling, waiting for messages, clients and offsets: bounds.", Target: &s.Queues},
		{Name: "schedule", Doc: "Delayed messages.", Target: &s.Schedule},
		{Name: "transactions", Doc: "Transactional messages.", Target: &s.Transactions},
		{Name: "telemetry", Doc: "Metrics for Prometheus and OpenTelemetry.", Target: &s.Telemetry},
	}
}

// sectionsOf finds in cfg what config.Load has decoded into the targets of Sections; the defaults for those that aren't
// there.
func sectionsOf(cfg *config.Config) sections {
	s := defaultSections()
	for _, in := range cfg.Sections {
		switch t := in.Target.(type) {
		case *store.Config:
			s.Store = *t
		case *topic.Config:
			s.Topics = *t
		case *topic.GroupsConfig:
			s.Groups = *t
		case *queue.Config:
			s.Queues = *t
		case *schedule.Config:
			s.Schedule = *t
		case *transaction.Config:
			s.Transactions = *t
		case *telemetry.Config:
			s.Telemetry = *t
		}
	}
	return s
}
