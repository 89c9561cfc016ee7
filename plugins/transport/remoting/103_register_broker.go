package remoting

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// REGISTER_BROKER (103), UNREGISTER_BROKER (104) and QUERY_DATA_VERSION (322): a name server's side of registration.

// topicsOnlyBelow is the client version up to which a registration's body is the table of topics alone.
const topicsOnlyBelow = 37

func serveRegisterBroker(ctx context.Context, r *request) ([]byte, error) {
	var x wire.RegisterBrokerHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	body, err := readRegistration(r, &x)
	if err != nil {
		return nil, err
	}
	reg := transport.Registration{
		BrokerIdentity: transport.BrokerIdentity{Cluster: x.ClusterName, Broker: x.BrokerName, ID: x.BrokerID, Addr: x.BrokerAddr},
		HAAddr:         x.HAServerAddr, FilterServers: body.FilterServerList,
		Version: transport.DataVersion{Counter: body.Topics.DataVersion.Counter, Timestamp: body.Topics.DataVersion.Timestamp},
	}
	for name, t := range body.Topics.TopicConfigTable {
		t.TopicName = cmp.Or(t.TopicName, name)
		reg.Topics = append(reg.Topics, coreTopic(t))
	}
	slices.SortFunc(reg.Topics, func(a, b transport.TopicConfig) int { return cmp.Compare(a.Name, b.Name) })
	res, err := r.c.e.h.Registry.Register(ctx, &r.caller, &reg)
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.RegisterBrokerReply{HAServerAddr: res.HAAddr, MasterAddr: res.MasterAddr})
	if len(res.OrderTopics) == 0 {
		return nil, nil
	}
	return r.json(&wire.KVTable{Table: res.OrderTopics})
}

// readRegistration reads the body in whichever of its three forms it comes.
func readRegistration(r *request, x *wire.RegisterBrokerHeader) (*wire.RegisterBroker, error) {
	body := &wire.RegisterBroker{}
	if x.BodyCRC32 != 0 && message.BodyCRC(r.body) != x.BodyCRC32 {
		return nil, refuse(message.SystemError, fmt.Sprintf("the body's CRC-32 is %d, the request says %d", message.BodyCRC(r.body), x.BodyCRC32))
	}
	switch {
	case len(r.body) == 0: // nothing but a sign of life
		return body, nil
	case r.h.Version < topicsOnlyBelow:
		return body, wire.ParseBody(r.body, &body.Topics)
	case x.Compressed:
		return body, body.ParseCompressed(r.body)
	}
	return body, wire.ParseBody(r.body, body)
}

func serveUnregisterBroker(ctx context.Context, r *request) ([]byte, error) {
	var x wire.BrokerHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Registry.Unregister(ctx, &r.caller, coreIdentity(x))
}

func serveDataVersion(ctx context.Context, r *request) ([]byte, error) {
	var x wire.BrokerHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	var v wire.DataVersion
	if err := wire.ParseBody(r.body, &v); err != nil {
		return nil, err
	}
	changed, known, err := r.c.e.h.Registry.TopicsChanged(ctx, &r.caller, coreIdentity(x), transport.DataVersion{Counter: v.Counter, Timestamp: v.Timestamp})
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.DataVersionReply{Changed: changed})
	if known == (transport.DataVersion{}) {
		return nil, nil
	}
	w := wireVersion(known)
	return r.json(&w)
}

func coreIdentity(x wire.BrokerHeader) transport.BrokerIdentity {
	return transport.BrokerIdentity{Cluster: x.ClusterName, Broker: x.BrokerName, ID: x.BrokerID, Addr: x.BrokerAddr}
}
