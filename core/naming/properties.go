package naming

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// The properties of RocketMQ's name server that mean something here.
const (
	propOrder           = "orderMessageEnable"
	propKVPath          = "kvConfigPath"
	propConfigStorePath = "configStorePath"
)

// ServerConfig returns the settings under RocketMQ's property names.
func (s *Server) ServerConfig(ctx context.Context, c *transport.Caller) (map[string]string, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, cluster); err != nil {
		return nil, err
	}
	return s.properties(), nil
}

func (s *Server) properties() map[string]string {
	return map[string]string{
		propOrder:        strconv.FormatBool(s.order.Load()),
		propKVPath:       s.kv.file,
		"clusterTest":    "false",
		"productEnvName": "center",
	}
}

// UpdateServerConfig changes settings for as long as the process runs. Only orderMessageEnable can be changed; when there
// is anything else in values, nothing is.
func (s *Server) UpdateServerConfig(ctx context.Context, c *transport.Caller, values map[string]string) error {
	if err := s.allow.Allow(ctx, c, auth.Alter, cluster); err != nil {
		return err
	}
	order := s.order.Load()
	known := s.properties()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		switch {
		case name == propKVPath || name == propConfigStorePath:
			return refuse(message.NoPermission, "Can not update config path")
		case name == propOrder && (value == "true" || value == "false"):
			order = value == "true"
		case name == propOrder:
			return refuse(message.SystemError, "property %s: %q is not true or false", name, value)
		case known[name] == value && value != "": // sent back as it was read
		default:
			return refuse(message.SystemError, "property %q can't be changed while the name server runs; only %s can", name, propOrder)
		}
	}
	s.order.Store(order)
	return nil
}
