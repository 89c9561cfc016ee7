package remoting

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// registrar registers with a name server that is not part of this process, ours or RocketMQ's.
type registrar struct{ caller }

var (
	_ transport.Registrar        = (*registrar)(nil)
	_ transport.RegistrarFactory = Factory{}
)

// NewRegistrar returns a client of the name server at addr (host:port). It connects when first used, with TLS if the configuration of the endpoint beside it says so.
func (Factory) NewRegistrar(_ plugin.Settings, addr string, beside any) (transport.Registrar, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return nil, fmt.Errorf("name server %q: want host:port", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("name server %q: want a port from 1 to 65535", addr)
	}
	r := &registrar{caller{addr: addr}}
	if b, ok := beside.(*Config); ok && b.TLS.Client.Enabled {
		r.tls = &b.TLS.Client
		if _, err := r.tls.load(addr); err != nil { // better now than every few seconds in the log
			return nil, err
		}
	}
	return r, nil
}

// Addr is the name server's address.
func (r *registrar) Addr() string { return r.addr }

// Register registers the broker, with a plain body, which every name server reads.
func (r *registrar) Register(ctx context.Context, reg *transport.Registration, oneWay bool) (transport.RegisterResult, error) {
	var res transport.RegisterResult
	body, err := wire.AppendBody(nil, &wire.RegisterBroker{
		FilterServerList: notNil(reg.FilterServers),
		Topics:           wire.TopicTable{DataVersion: wireVersion(reg.Version), TopicConfigTable: wireTopics(reg.Topics)},
	})
	if err != nil {
		return res, fmt.Errorf("encode registration: %w", err)
	}
	fill := func(h *wire.Header) {
		h.Write(&wire.RegisterBrokerHeader{
			BrokerName: reg.Broker, BrokerAddr: reg.Addr, ClusterName: reg.Cluster, HAServerAddr: reg.HAAddr,
			BrokerID: reg.ID, BodyCRC32: message.BodyCRC(body),
		})
	}
	if oneWay {
		return res, r.call(ctx, wire.CodeRegisterBroker, fill, body, nil)
	}
	err = r.call(ctx, wire.CodeRegisterBroker, fill, body, func(h *wire.Header, body []byte) error {
		var x wire.RegisterBrokerReply
		if err := h.Read(&x); err != nil {
			return err
		}
		res.HAAddr, res.MasterAddr = x.HAServerAddr, x.MasterAddr
		if len(body) == 0 {
			return nil
		}
		var kv wire.KVTable
		if err := wire.ParseBody(body, &kv); err != nil {
			return err
		}
		res.OrderTopics = kv.Table
		return nil
	})
	return res, err
}

// Unregister takes the broker off.
func (r *registrar) Unregister(ctx context.Context, b transport.BrokerIdentity) error {
	fill := func(h *wire.Header) {
		h.Write(&wire.BrokerHeader{BrokerName: b.Broker, BrokerAddr: b.Addr, ClusterName: b.Cluster, BrokerID: b.ID})
	}
	return r.call(ctx, wire.CodeUnregisterBroker, fill, nil, func(*wire.Header, []byte) error { return nil })
}
