// Package open is the auth plugin that lets everybody do everything: what a broker without accounts runs with, like
// RocketMQ without ACL. It never refuses, keeps nothing and costs nothing. Whoever makes a broker with it reachable from
// other machines is warned by the broker, not by this package.
package open

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/plugin"
)

// authenticator lets everybody in as the same administrator.
type authenticator struct{}

var _ auth.Authenticator = authenticator{}

func (authenticator) Start(context.Context, plugin.Host) error { return nil }
func (authenticator) Stop(context.Context) error               { return nil }

// Authenticate accepts any credentials, none too, and looks at none of them.
func (authenticator) Authenticate(context.Context, *auth.Credentials) (auth.Principal, error) {
	return auth.Principal{Name: "anonymous", Admin: true}, nil
}

// Authorize allows every action on every resource.
func (authenticator) Authorize(context.Context, auth.Principal, auth.Action, auth.Resource) error {
	return nil
}
