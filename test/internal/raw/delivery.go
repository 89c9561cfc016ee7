package raw

import (
	"context"
	"fmt"
	"strconv"
)

// Request codes.
const (
	codeSendBack       = 36
	codeEndTransaction = 37
)

// Transaction types in a system flag.
const (
	SysFlagHalf     = 4
	sysFlagCommit   = 8
	sysFlagRollback = 12
)

// LogOffset is where in the commit log the message is, which its identifier ends with.
func (s *Sent) LogOffset() (int64, error) {
	const digits = 16
	if len(s.ID) < digits {
		return 0, fmt.Errorf("message id %q", s.ID)
	}
	return strconv.ParseInt(s.ID[len(s.ID)-digits:], 16, 64)
}

// EndTransaction commits or rolls back a half message of the group that its property PGROUP names.
func (c *Conn) EndTransaction(ctx context.Context, group string, half *Sent, commit bool) error {
	at, err := half.LogOffset()
	if err != nil {
		return err
	}
	decision := sysFlagRollback
	if commit {
		decision = sysFlagCommit
	}
	_, err = c.must(ctx, codeEndTransaction, map[string]string{
		"producerGroup": group, "tranStateTableOffset": strconv.FormatInt(half.Offset, 10), "commitLogOffset": strconv.FormatInt(at, 10),
		"commitOrRollback": strconv.Itoa(decision), "fromTransactionCheck": "false", "msgId": half.ID,
	}, nil)
	return err
}

// SendBack gives a message back, to be delivered again to the group after the delay of the level.
func (c *Conn) SendBack(ctx context.Context, group, topic string, sent *Sent, level int) error {
	at, err := sent.LogOffset()
	if err != nil {
		return err
	}
	_, err = c.must(ctx, codeSendBack, map[string]string{
		"offset": strconv.FormatInt(at, 10), "group": group, "delayLevel": strconv.Itoa(level), "originMsgId": sent.ID, "originTopic": topic,
		"unitMode": "false", "maxReconsumeTimes": "16",
	}, nil)
	return err
}
