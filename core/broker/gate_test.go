package broker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// ungated are the methods that ask for nothing and so need no permission.
var ungated = []string{"Sessions.SessionClosed"}

// answered takes the answer of those methods that don't return one.
type answered struct{ code, remark chan string }

func (a answered) put(c message.Code, remark string) { a.code <- fmt.Sprint(c); a.remark <- remark }
func (a answered) SendsDone(b *transport.SendBatch)  { a.put(b.Sends[0].Code, b.Sends[0].Remark) }
func (a answered) PullDone(p *transport.Pull)        { a.put(p.Code, p.Remark) }
func (a answered) ReturnDone(r *transport.Return)    { a.put(r.Code, r.Remark) }
func (a answered) EndsDone(b *transport.EndBatch)    { a.put(b.Ends[0].Code, b.Ends[0].Remark) }

// TestEveryMethodPassesTheGate calls every method of every role that a transport is given, the broker's and the name
// server's, while nobody is let in, and then while somebody is who may do nothing. Each must refuse in the
// authenticator's words, and nothing may have happened. A method that is added without a gate fails here.
func TestEveryMethodPassesTheGate(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	position := n.mustSend("T", "secret")
	names := w.names.h
	for _, refusing := range []struct {
		name      string
		auth      error
		authorize func(auth.Action, auth.Resource) error
		want      message.Code
		remark    string
	}{
		{"unknown callers, by an error with a code", &message.Error{Code: message.SystemError, Remark: "who are you"}, nil, message.SystemError, "who are you"},
		{"unknown callers, by any error", errors.New("who are you"), nil, message.NoPermission, "who are you"},
		{"every action", nil, func(auth.Action, auth.Resource) error { return errors.New("you may not") }, message.NoPermission, "you may not"},
	} {
		t.Run(refusing.name, func(t *testing.T) {
			before := n.footprint()
			w.auth.set(refusing.auth, refusing.authorize)
			defer w.auth.set(nil, nil)
			called := 0
			for _, set := range []struct {
				name string
				h    transport.Handlers
			}{{"broker", n.h}, {"name server", names}} {
				called += callAll(t, set.h, position, func(method string, code, remark string) {
					if code != refusing.want.String() || remark != refusing.remark {
						t.Errorf("%s of the %s answers %s %q, want %v %q", method, set.name, code, remark, refusing.want, refusing.remark)
					}
				})
			}
			if called < 60 {
				t.Errorf("only %d methods were called", called)
			}
			w.auth.set(nil, nil)
			if after := n.footprint(); after != before {
				t.Errorf("something happened:\n%s\nbefore, and after:\n%s", before, after)
			}
		})
	}
}

// TestEveryRoleIsServed fails when a role is added that nobody gives to the transports.
func TestEveryRoleIsServed(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	for f := range reflect.TypeFor[transport.Handlers]().Fields() {
		broker := !reflect.ValueOf(n.h).FieldByName(f.Name).IsNil()
		names := !reflect.ValueOf(w.names.h).FieldByName(f.Name).IsNil()
		if !broker && !names {
			t.Errorf("nobody implements %s", f.Name)
		}
	}
}

// callAll calls every method of every role in h and reports what it answers. It returns how many it called.
func callAll(t *testing.T, h transport.Handlers, p message.Position, report func(method, code, remark string)) (called int) {
	roles := reflect.ValueOf(h)
	for f := range roles.Type().Fields() {
		role := roles.FieldByName(f.Name)
		if role.IsNil() {
			continue
		}
		for i := range role.Type().NumMethod() {
			method := f.Name + "." + role.Type().Method(i).Name
			if slices.Contains(ungated, method) {
				continue
			}
			called++
			reply := answered{make(chan string, 1), make(chan string, 1)}
			in := arguments(t, role.Method(i).Type(), p, reply)
			out := role.Method(i).Call(in)
			if r, ok := in[len(in)-1].Interface().(*transport.ReplyMessage); ok {
				report(method, r.Code.String(), r.Remark)
				continue
			}
			if len(out) == 0 {
				report(method, await(t, reply.code), await(t, reply.remark))
				continue
			}
			err, ok := out[len(out)-1].Interface().(error)
			if !ok {
				report(method, message.Success.String(), "")
				continue
			}
			c, remark := code(err)
			report(method, c.String(), remark)
			for _, v := range out[:len(out)-1] {
				if !v.IsZero() {
					t.Errorf("%s says %v although it refuses", method, v)
				}
			}
		}
	}
	return called
}

// arguments makes arguments with which every method would have something to do.
func arguments(t *testing.T, method reflect.Type, p message.Position, reply answered) []reflect.Value {
	c := caller(newSession("10.0.0.66:6666"))
	var in []reflect.Value
	for i := range method.NumIn() {
		var v any
		switch want := method.In(i); want {
		case reflect.TypeFor[context.Context]():
			v = t.Context()
		case reflect.TypeFor[*transport.Caller]():
			v = c
		case reflect.TypeFor[*transport.SendBatch]():
			v = &transport.SendBatch{Session: c.Session, Sends: []transport.Send{newSend("Intruder", "x")}, Reply: reply}
		case reflect.TypeFor[*transport.Pull]():
			v = &transport.Pull{Caller: *c, Reply: reply, Group: "intruders", Topic: "T", MaxNum: 32, Suspend: true, Commit: true}
		case reflect.TypeFor[*transport.Return]():
			v = &transport.Return{Caller: *c, Reply: reply, Group: "intruders", Position: p}
		case reflect.TypeFor[*transport.EndBatch]():
			v = &transport.EndBatch{Reply: reply, Ends: []transport.EndTransaction{
				{Credentials: c.Credentials, ProducerGroup: []byte("intruders"), Position: p, Decision: message.FlagCommit}}}
		case reflect.TypeFor[*transport.ReplyMessage]():
			v = &transport.ReplyMessage{Session: c.Session, Send: newSend("Intruder", "x")}
		case reflect.TypeFor[*transport.Heartbeat]():
			v = &transport.Heartbeat{ClientID: "intruder", ProducerGroups: []string{"intruders"},
				Consumers: []transport.ConsumerData{{Group: "intruders", Subscriptions: []transport.Subscription{{Topic: "T"}}}}}
		case reflect.TypeFor[*transport.Registration]():
			v = &transport.Registration{BrokerIdentity: intruder, Topics: []transport.TopicConfig{{Name: "Intruder", WriteQueues: 1}}}
		case reflect.TypeFor[transport.BrokerIdentity]():
			v = intruder
		case reflect.TypeFor[transport.TopicConfig]():
			v = transport.TopicConfig{Name: "Intruder", ReadQueues: 1, WriteQueues: 1, Perm: 6}
		case reflect.TypeFor[transport.GroupConfig]():
			v = transport.GroupConfig{Name: "intruders"}
		case reflect.TypeFor[map[string]string]():
			v = map[string]string{"brokerPermission": "4", "orderMessageEnable": "true"}
		case reflect.TypeFor[message.Position]():
			v = p
		case reflect.TypeFor[message.QueueKey]():
			v = message.QueueKey{Topic: "T"}
		case reflect.TypeFor[message.Offset]():
			v = message.Offset(7)
		case reflect.TypeFor[*transport.Records]():
			v = &transport.Records{}
		case reflect.TypeFor[string]():
			v = "T"
		case reflect.TypeFor[bool]():
			v = true
		default:
			v = reflect.Zero(want).Interface()
			if v == nil {
				t.Fatalf("no argument for a %v: teach this test", want)
			}
		}
		in = append(in, reflect.ValueOf(v))
	}
	return in
}

var intruder = transport.BrokerIdentity{Cluster: "DefaultCluster", Broker: "intruder", Addr: netip.AddrPort{}.String() + "10.0.0.66:1"}

// footprint is all that an intruder could have changed.
func (n *node) footprint() string {
	n.t.Helper()
	ctx, c := context.Background(), caller(newSession("10.0.0.1:1"))
	var out strings.Builder
	h, names := n.h, n.w.names.h
	note := func(name string, values ...any) { fmt.Fprintf(&out, "%s: %+v\n", name, values) }
	topics, topicVersion, errTopics := h.Topics.Topics(ctx, c)
	note("topics", topics, topicVersion, errTopics)
	groups, groupVersion, errGroups := h.GroupAd.Groups(ctx, c)
	note("groups", groups, groupVersion, errGroups)
	offsets, err := h.GroupAd.AllOffsets(ctx, c)
	note("offsets", offsets, err)
	end := n.b.handler.store.End()
	note("log", end)
	settings, version, err := h.Broker.Config(ctx, c)
	note("settings", settings, version, err)
	modules, err := h.Modules.Modules(ctx, c, "")
	note("modules", modules, err)
	producers, err := h.Clients.AllProducers(ctx, c)
	note("producers", producers, err)
	online := n.b.handler.clients.Online("intruders")
	note("consumers", online, n.b.handler.pulls.Held(), n.b.handler.locks.Len())
	cluster, err := names.Router.ClusterInfo(ctx, c)
	note("cluster", cluster, err)
	routes, err := names.Router.TopicList(ctx, c, transport.TopicQuery{})
	note("routes", routes, err)
	config, err := names.Router.ServerConfig(ctx, c)
	note("name server", config, err)
	kv, err := names.KV.KVList(ctx, c, "T")
	note("kv", kv, err)
	return out.String()
}
