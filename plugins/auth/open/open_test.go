package open

import (
	"net/netip"
	"testing"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/auth/authtest"
)

func TestConformance(t *testing.T) {
	everything := []authtest.Access{
		{Action: auth.Publish, Resource: auth.Resource{Kind: auth.Topic, Name: "T"}},
		{Action: auth.Subscribe, Resource: auth.Resource{Kind: auth.Group, Name: "g"}},
		{Action: auth.Alter, Resource: auth.Resource{Kind: auth.Broker}},
		{Action: auth.Register, Resource: auth.Resource{Kind: auth.Cluster}},
	}
	authtest.Run(t, authtest.Suite{
		Factory: Factory{},
		Open:    true,
		Cases: []authtest.Case{
			{Name: "nobody", Allowed: everything},
			{Name: "somebody", Allowed: everything, Credentials: &auth.Credentials{
				Remote: netip.MustParseAddrPort("203.0.113.9:1"), AccessKey: []byte("k"), Signature: []byte("wrong")}},
		},
	})
}
