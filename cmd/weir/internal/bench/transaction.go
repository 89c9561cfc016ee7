package bench

import (
	"bytes"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// commits ends the transactions of one lane. A transaction is a half message and, when that is stored, its commit; it counts once the
// commit is answered. The producer's lock guards it.
type commits struct {
	frame       *client.Frame
	offset, log int    // where the two numbers are in the frame
	ending      []bool // by token: the commit is under way
	stored      wire.SendReply
}

// commitDigits is how long numbers in a commit are: they are patched in place, with zeros in front.
const commitDigits = 19

func newCommits(group string, t wire.Type, window int) (*commits, error) {
	mark := func(digit byte) string { return string(bytes.Repeat([]byte{digit}, commitDigits)) }
	var h wire.Header
	h.Request(wire.CodeEndTransaction, 0)
	h.Type = t
	h.SetString("producerGroup", group)
	h.SetString("tranStateTableOffset", mark('1'))
	h.SetString("commitLogOffset", mark('2'))
	h.SetInt("commitOrRollback", int64(message.FlagCommit))
	h.SetBool("fromTransactionCheck", false)
	f, err := client.NewFrame(&h, nil)
	if err != nil {
		return nil, fmt.Errorf("make a commit: %w", err)
	}
	return &commits{frame: f, offset: bytes.Index(f.Bytes(), []byte(mark('1'))), log: bytes.Index(f.Bytes(), []byte(mark('2'))),
		ending: make([]bool, window)}, nil
}

// aim makes the frame the commit of the half message that r says was stored.
func (c *commits) aim(r *client.Reply) error {
	h, err := r.Header()
	if err != nil {
		return err
	}
	if err := c.stored.Decode(h); err != nil {
		return err
	}
	const positionDigits = 16 // at the end of an offset message id
	id := c.stored.MsgID
	var position int64
	if len(id) < positionDigits {
		return fmt.Errorf("the broker calls a half message %q", id)
	}
	for _, d := range id[len(id)-positionDigits:] {
		position = position<<4 | int64(hexValue(d))
	}
	putDigits(c.frame.Bytes()[c.offset:], c.stored.QueueOffset)
	putDigits(c.frame.Bytes()[c.log:], position)
	return nil
}

func hexValue(d byte) byte {
	if d >= 'A' {
		return (d | 0x20 - 'a') + 10
	}
	return d - '0'
}

func putDigits(b []byte, n int64) {
	for i := commitDigits - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

// commitLocked sends the commit of a half message that was stored, and says whether it did: then the token stays in use.
func (l *producer) commitLocked(token uint64, r *client.Reply) bool {
	c := l.commits
	if c.ending[token] {
		c.ending[token] = false
		return false
	}
	if !stored(r) {
		return false
	}
	err := c.aim(r)
	if err == nil {
		err = l.conn.SubmitFrame(c.frame, l, token, requestTimeout)
	}
	if err != nil {
		l.tally.fail(what(err), 1)
		l.over = true
		return false
	}
	c.ending[token] = true
	return true
}
