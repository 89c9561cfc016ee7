package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/weirmq/weir/sdk/wire"
)

// The calls here are WeirMQ's own. Other brokers answer them with CodeNotSupported.

// Modules describes the versions of one module on a broker or, when the name is empty, of all.
func (c *Client) Modules(ctx context.Context, addr, name string) ([]wire.Module, error) {
	var l wire.ModuleList
	err := c.callInto(ctx, addr, wire.CodeListModules, &wire.ModuleHeader{Name: name}, &l)
	return l.Modules, err
}

// ModuleLog returns the last lines about a module, oldest first.
func (c *Client) ModuleLog(ctx context.Context, addr, name string) ([]wire.ModuleLine, error) {
	var l wire.ModuleLog
	err := c.callInto(ctx, addr, wire.CodeModuleLog, &wire.ModuleHeader{Name: name}, &l)
	return l.Lines, err
}

// modulePart is how much of a module a request carries.
const modulePart = 256 << 10

// errUpload says that a broker doesn't take the parts of a module.
var errUpload = errors.New("the broker asks for the same part of the module again and again")

// PushModule sends a module to a broker, which publishes it under a name: as the current version, or as a shadow. sent, if
// not nil, is told how many bytes the broker has. When ctx or the connection ends it, a later call goes on from there only
// if nothing else has been sent under the same hash.
func (c *Client) PushModule(ctx context.Context, addr, name string, module []byte, shadow bool, sent func(int)) (*wire.Module, error) {
	hash := sha256.Sum256(module)
	h := wire.PushModuleHeader{Name: name, SHA256: hex.EncodeToString(hash[:]), Size: int64(len(module)), Shadow: shadow}
	for tries := 0; tries < 3; {
		part := module[h.Offset:min(h.Offset+modulePart, h.Size)]
		r, err := c.Call(ctx, addr, wire.CodePushModule, &h, part)
		if err != nil {
			return nil, err
		}
		var p wire.PushedModule
		if err := wire.ParseBody(r.Body, &p); err != nil {
			return nil, err
		}
		if p.Received < 0 || p.Received > h.Size {
			return nil, fmt.Errorf("%s to %s: the broker says that it has %d of %d bytes", wire.CodeName(wire.CodePushModule), addr, p.Received, h.Size)
		}
		if sent != nil {
			sent(int(p.Received))
		}
		if p.Module != nil {
			return p.Module, nil
		}
		if p.Received <= h.Offset {
			tries++
		}
		h.Offset = p.Received
	}
	return nil, errUpload
}

// EnableModule lets a module be used again that was disabled.
func (c *Client) EnableModule(ctx context.Context, addr, name string) error {
	_, err := c.Call(ctx, addr, wire.CodeEnableModule, &wire.ModuleHeader{Name: name}, nil)
	return err
}

// DisableModule lets nobody use a module. The broker refuses while live groups do, unless it is forced.
func (c *Client) DisableModule(ctx context.Context, addr, name string, force bool) error {
	_, err := c.Call(ctx, addr, wire.CodeDisableModule, &wire.ModuleHeader{Name: name, Force: force}, nil)
	return err
}

// ActivateModule makes a version the current one; number 0 is the one that was before.
func (c *Client) ActivateModule(ctx context.Context, addr, name string, number int) (*wire.Module, error) {
	m := &wire.Module{}
	return m, c.callInto(ctx, addr, wire.CodeActivateModule, &wire.ModuleHeader{Name: name, Number: int32(number)}, m)
}

// RemoveModule removes a version, with number 0 the module. The broker refuses while live groups use it, unless it is forced.
func (c *Client) RemoveModule(ctx context.Context, addr, name string, number int, force bool) error {
	_, err := c.Call(ctx, addr, wire.CodeRemoveModule, &wire.ModuleHeader{Name: name, Number: int32(number), Force: force}, nil)
	return err
}

// ReloadModules lets a broker load the modules anew that its broker.yaml declares and whose files have changed: one or,
// when the name is empty, all. It returns which those were.
func (c *Client) ReloadModules(ctx context.Context, addr, name string) ([]string, error) {
	var l wire.ReloadedModules
	err := c.callInto(ctx, addr, wire.CodeReloadModules, &wire.ModuleHeader{Name: name}, &l)
	return l.Names, err
}
