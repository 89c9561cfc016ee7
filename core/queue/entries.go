package queue

import (
	"bytes"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// entriesMax bounds how many entries QueueEntries shows.
const entriesMax = 1024

// QueueEntries shows index entries of a queue from an offset on, and what the group subscribes of the topic.
func (p *Progress) QueueEntries(q message.QueueKey, from message.Offset, count int32, group string) (transport.QueueEntries, error) {
	low, high, ok := p.set.Log.Bounds(q)
	if !ok {
		return transport.QueueEntries{}, &message.Error{Code: message.SystemError,
			Remark: fmt.Sprintf("%d@%s is not exist!", q.ID, q.Topic)}
	}
	if from < low || from >= high {
		return transport.QueueEntries{}, &message.Error{Code: message.SystemError,
			Remark: fmt.Sprintf("Index %d of consume queue: %d@%s is not exist! It has %d to %d", from, q.ID, q.Topic, low, high)}
	}
	out := transport.QueueEntries{Min: low, Max: high}
	end := min(high, from+message.Offset(min(max(count, 0), entriesMax)))
	for from < end {
		n, err := p.appendEntries(&out, q, from, int(end-from))
		if err != nil {
			return transport.QueueEntries{}, err
		}
		if n == 0 {
			break
		}
		from += message.Offset(n)
	}
	if group == "" {
		return out, nil
	}
	s, ok := p.set.Clients.Subscription(group, q.Topic)
	if !ok {
		out.FilterData = fmt.Sprintf("%s@%s is not online!", group, q.Topic)
		return out, nil
	}
	out.Subscription, out.FilterData = &s, p.set.Filters.describe(q.Topic, group)
	for i := range out.Entries {
		if e := &out.Entries[i]; e.Unit != nil {
			e.Eval = p.mayMatch(&s, group, e.Unit)
		}
	}
	return out, nil
}

// mayMatch says whether a group's subscription would look at a message, to judge by its unit.
func (p *Progress) mayMatch(s *transport.Subscription, group string, u *message.ExtUnit) bool {
	switch {
	case s.ClassFilter:
		return true
	case isTag(s.Expression.Type):
		tags, err := message.ParseTags(s.Expression.Text)
		return err != nil || tags.Match(u.TagsCode)
	}
	f, ok := p.set.Filters.get(s.Topic, group)
	if !ok {
		return true
	}
	defer f.prog.release()
	return !f.pre.rulesOut(u)
}

func (p *Progress) appendEntries(out *transport.QueueEntries, q message.QueueKey, from message.Offset, n int) (int, error) {
	raw, ref, err := p.set.Log.Entries(q, from, n)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		return 0, err
	}
	n = len(raw) / message.EntrySize
	codes := make([]int64, n)
	shown := shownEntries(out.Entries)
	for i := range n {
		e := message.DecodeEntry(raw[i*message.EntrySize:])
		codes[i] = e.TagsCode
		shown = append(shown, transport.QueueEntry{Position: e.Position, Size: e.Size, TagsCode: e.TagsCode})
	}
	out.Entries = shown
	p.set.Log.Units(q, codes, shown[len(shown)-n:])
	for i := range shown[len(shown)-n:] {
		if e := &shown[len(shown)-n+i]; e.Unit == nil && e.TagsCode <= message.MaxExtAddress {
			e.Message = fmt.Sprintf("Cq extend not exist!addr: %d", e.TagsCode)
		}
	}
	return n, nil
}

// shownEntries are given their units.
type shownEntries []transport.QueueEntry

// Unit implements message.ExtVisitor.
func (s shownEntries) Unit(i int, u message.ExtUnit) {
	u.Bitmap = bytes.Clone(u.Bitmap)
	s[i].Unit = &u
}
