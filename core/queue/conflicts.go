package queue

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Members of a group that subscribe different things undo each other's subscriptions, and lose messages. RocketMQ says nothing of it; here it
// is told, once, and may be refused. Two members agree when they subscribe the same topics by the same expressions; the order of tags, the
// version of a subscription and the group's own retry topic don't count.

// refusedMax is how many refused clients of a group are remembered, and refusedFor for how long after they last came.
const (
	refusedMax = 16
	refusedFor = clientExpiry
)

// refusedClient is one whose heartbeat was refused because the group's members subscribe something else.
type refusedClient struct {
	address string
	wants   string
	last    time.Time
}

// wantsMax bounds what is kept of each member's subscriptions, in bytes; what is longer is told apart by its hash. shownMax bounds what the log
// and answers say of them.
const (
	wantsMax = 4 << 10
	shownMax = 256
)

// wantsOf writes a member's subscriptions in a form in which equal ones are equal: "topic expression", one a line.
func wantsOf(group string, subs []transport.Subscription) string {
	lines := make([]string, 0, len(subs))
	for i := range subs {
		s := &subs[i]
		if own, ok := message.RetryGroup(s.Topic); ok && own == group {
			continue
		}
		lines = append(lines, s.Topic+" "+expressionText(s))
	}
	if len(lines) == 0 {
		return "nothing"
	}
	slices.Sort(lines)
	wants := strings.Join(slices.Compact(lines), "\n")
	if len(wants) > wantsMax {
		wants = fmt.Sprintf("%s… (%d bytes, hash %x)", strings.ToValidUTF8(wants[:wantsMax], ""), len(wants), sha256.Sum256([]byte(wants)))
	}
	return strings.Clone(wants) // of its own: it outlives the request
}

func expressionText(s *transport.Subscription) string {
	if s.ClassFilter {
		return "(class filter)"
	}
	if !isTag(s.Expression.Type) {
		return s.Expression.Type + ": " + s.Expression.Text
	}
	tags, err := message.ParseTags(s.Expression.Text)
	if err != nil || tags.All {
		return cmp.Or(s.Expression.Text, message.SubscribeAll)
	}
	slices.Sort(tags.Names)
	return strings.Join(tags.Names, " || ")
}

// agreement follows whether the members of a group agree. It is guarded by Clients.mu.
type agreement struct {
	wants   map[string]int // members by what they want
	told    bool           // that they don't agree
	refused map[string]refusedClient
}

// strangerLocked returns a member that wants something else than m does, of another connection that is alive.
func (g *consumerGroup) strangerLocked(m *member) (stranger *member) {
	if len(g.wants) == 0 || len(g.wants) == 1 && g.wants[m.wants] > 0 {
		return nil
	}
	for s, other := range g.members {
		if s != m.session && other.wants != m.wants && s.Alive() && (stranger == nil || other.clientID < stranger.clientID) {
			stranger = other
		}
	}
	return stranger
}

// countLocked takes over what a member wants instead of what it wanted before; old or now may be nil.
func (g *consumerGroup) countLocked(old, now *member) {
	if old != nil {
		if g.wants[old.wants]--; g.wants[old.wants] <= 0 {
			delete(g.wants, old.wants)
		}
	}
	if now != nil {
		if g.wants == nil {
			g.wants = map[string]int{}
		}
		g.wants[now.wants]++
		delete(g.refused, now.clientID)
	}
}

// refuseLocked remembers a refused client, and says whether it is new.
func (g *consumerGroup) refuseLocked(m *member, now time.Time) (first bool) {
	maps.DeleteFunc(g.refused, func(_ string, r refusedClient) bool { return now.Sub(r.last) > refusedFor })
	old, known := g.refused[m.clientID]
	if !known && len(g.refused) >= refusedMax {
		return false
	}
	if g.refused == nil {
		g.refused = map[string]refusedClient{}
	}
	g.refused[m.clientID] = refusedClient{m.address, m.wants, now}
	return !known || old.wants != m.wants
}

// conflictNews is what the log is told of a heartbeat, when the lock is free again.
type conflictNews struct {
	group           string
	stranger        *member // who wants something else
	refused, begins bool    // the client was refused; the conflict has begun
	ends            bool    // the members agree again
}

// admitLocked decides about a heartbeat of m that may differ from the other members'. The error refuses it.
func (c *Clients) admitLocked(g *consumerGroup, m *member) (news conflictNews, err error) {
	if !c.set.RefuseConflicts {
		return news, nil
	}
	stranger := g.strangerLocked(m)
	if stranger == nil {
		return news, nil
	}
	c.Refused.Add(1)
	news = conflictNews{group: g.name, stranger: stranger, refused: g.refuseLocked(m, c.set.Clock.Now())}
	return news, refusal(message.SystemError, "heartbeat refused: client %s subscribes [%s] in group %s, and its member %s [%s]; "+
		"all members of a group must subscribe the same (groups.on_conflict)", m.clientID, oneLine(m.wants), g.name, stranger.clientID, oneLine(stranger.wants))
}

// comparedLocked compares m, which has joined, with the other members.
func (g *consumerGroup) comparedLocked(m *member) (news conflictNews) {
	agree := len(g.wants) < 2
	switch {
	case !agree && !g.told:
		news = conflictNews{group: g.name, stranger: g.strangerLocked(m), begins: true}
	case agree && g.told:
		news = conflictNews{group: g.name, ends: true}
	}
	g.told = !agree
	return news
}

// tell logs what happened to a group. m is who brought it about.
func (c *Clients) tell(n conflictNews, m *member) {
	log := c.set.Logger.With("group", n.group)
	if n.stranger != nil {
		log = log.With("client", m.clientID, "address", m.address, "subscribes", oneLine(m.wants), "other", n.stranger.clientID, "other_subscribes", oneLine(n.stranger.wants))
	}
	switch {
	case n.refused:
		log.Warn("a consumer is refused because the members of its group subscribe something else")
	case n.begins:
		log.Warn("members of a group subscribe different things: each heartbeat undoes the others' subscriptions, and messages go astray; see weir group check")
	case n.ends:
		log.Info("the members of a group subscribe the same again")
	}
}

func oneLine(wants string) string {
	if len(wants) > shownMax {
		wants = strings.ToValidUTF8(wants[:shownMax], "") + "…"
	}
	return strings.ReplaceAll(wants, "\n", "; ")
}

// Conflicts lists the groups whose members don't subscribe the same, or that refuse clients because these don't: of a group or, when the name
// is empty, of all, sorted.
func (c *Clients) Conflicts(group string) []transport.GroupConflict {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []transport.GroupConflict
	now := c.set.Clock.Now()
	for _, name := range slices.Sorted(maps.Keys(c.consumers)) {
		g := c.consumers[name]
		if group != "" && group != name || len(g.wants) < 2 && len(g.refused) == 0 {
			continue
		}
		if conflict := g.conflictLocked(now); len(conflict.Sides) > 1 {
			list = append(list, conflict)
		}
	}
	return list
}

func (g *consumerGroup) conflictLocked(now time.Time) transport.GroupConflict {
	sides := map[string]*transport.ConflictSide{}
	side := func(wants string) *transport.ConflictSide {
		if sides[wants] == nil {
			sides[wants] = &transport.ConflictSide{Subscribes: strings.Split(wants, "\n")}
		}
		return sides[wants]
	}
	for _, m := range g.members {
		s := side(m.wants)
		s.Clients = append(s.Clients, m.clientID)
	}
	for id, r := range g.refused {
		if now.Sub(r.last) <= refusedFor {
			s := side(r.wants)
			s.Refused = append(s.Refused, id)
		}
	}
	c := transport.GroupConflict{Group: g.name}
	for _, wants := range slices.Sorted(maps.Keys(sides)) {
		s := sides[wants]
		slices.Sort(s.Clients)
		slices.Sort(s.Refused)
		c.Sides = append(c.Sides, *s)
	}
	return c
}
