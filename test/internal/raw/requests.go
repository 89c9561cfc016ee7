package raw

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Request codes.
const (
	codeSend         = 310
	codeSendBatch    = 320
	codePull         = 11
	codeQueryOffset  = 14
	codeUpdateOffset = 15
	codeSearchOffset = 29
	codeMaxOffset    = 30
	codeMinOffset    = 31
	codeView         = 33
	codeRoute        = 105
	codeClusterInfo  = 106
)

// Response codes that tests name.
const (
	Success          = 0
	SystemError      = 1
	CodeNotSupported = 3
	MessageIllegal   = 13
	NoPermission     = 16
	TopicNotExist    = 17
	PullNotFound     = 19
	PullRetry        = 20
	PullOffsetMoved  = 21
	QueryNotFound    = 22
	ConsumerNotFound = 206
)

// Error is a response that says no.
type Error struct {
	Request int
	Code    int
	Remark  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("request %d: answered %d: %s", e.Request, e.Code, e.Remark)
}

// must is Call for requests of which only success is expected.
func (c *Conn) must(ctx context.Context, code int, ext map[string]string, body []byte) (*Frame, error) {
	f, err := c.Call(ctx, code, ext, body)
	if err != nil {
		return nil, err
	}
	if f.Code != Success {
		return nil, &Error{Request: code, Code: f.Code, Remark: f.Remark}
	}
	return f, nil
}

// Message is what a send stores.
type Message struct {
	Topic      string
	Queue      int
	Flag       int
	SysFlag    int
	Body       []byte
	Properties string // see FormatProperties
}

// Sent is where a message, or the first of a batch, went.
type Sent struct {
	Code   int // Success, or one of the three codes that mean stored, but not as safely as asked for
	ID     string
	Queue  int
	Offset int64
}

// Send stores a message and waits for the acknowledgement.
func (c *Conn) Send(ctx context.Context, m *Message) (*Sent, error) {
	return c.send310(ctx, codeSend, m, "false")
}

// SendBatch stores messages of one topic and queue, whose bodies, flags and properties differ, in one request.
func (c *Conn) SendBatch(ctx context.Context, messages []*Message) (*Sent, error) {
	var body []byte
	for _, m := range messages {
		size := 4 + 4 + 4 + 4 + 4 + len(m.Body) + 2 + len(m.Properties)
		body = binary.BigEndian.AppendUint32(body, uint32(size))
		body = append(body, make([]byte, 8)...) // magic and checksum, which nobody reads
		body = binary.BigEndian.AppendUint32(body, uint32(m.Flag))
		body = binary.BigEndian.AppendUint32(body, uint32(len(m.Body)))
		body = append(body, m.Body...)
		body = binary.BigEndian.AppendUint16(body, uint16(len(m.Properties)))
		body = append(body, m.Properties...)
	}
	return c.send310(ctx, codeSendBatch, &Message{Topic: messages[0].Topic, Queue: messages[0].Queue, Body: body}, "true")
}

func (c *Conn) send310(ctx context.Context, code int, m *Message, batch string) (*Sent, error) {
	f, err := c.Call(ctx, code, map[string]string{
		"a": "judge-producer", "b": m.Topic, "c": "TBW102", "d": "4", "e": strconv.Itoa(m.Queue), "f": strconv.Itoa(m.SysFlag),
		"g": "1700000000000", "h": strconv.Itoa(m.Flag), "i": m.Properties, "j": "0", "k": "false", "m": batch,
	}, m.Body)
	if err != nil {
		return nil, err
	}
	if f.Code != Success && (f.Code < 10 || f.Code > 12) {
		return nil, &Error{Request: code, Code: f.Code, Remark: f.Remark}
	}
	queue, err1 := strconv.Atoi(f.Ext["queueId"])
	offset, err2 := strconv.ParseInt(f.Ext["queueOffset"], 10, 64)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("request %d: fields of the answer: %v", code, f.Ext)
	}
	return &Sent{Code: f.Code, ID: f.Ext["msgId"], Queue: queue, Offset: offset}, nil
}

// Pulled is the answer to a pull.
type Pulled struct {
	Code    int
	Remark  string
	Next    int64
	Min     int64
	Max     int64
	Records []*Record
}

// Pull asks for up to 32 messages of a queue and brings its own subscription, so that it needs no heartbeat before.
func (c *Conn) Pull(ctx context.Context, group, topic string, queue int, offset int64, expression string) (*Pulled, error) {
	return c.PullBy(ctx, group, topic, queue, offset, "TAG", expression)
}

// PullBy pulls with a subscription in the language of kind.
func (c *Conn) PullBy(ctx context.Context, group, topic string, queue int, offset int64, kind, expression string) (*Pulled, error) {
	f, err := c.Call(ctx, codePull, map[string]string{
		"consumerGroup": group, "topic": topic, "queueId": strconv.Itoa(queue), "queueOffset": strconv.FormatInt(offset, 10),
		"maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": expression,
		"subVersion": "0", "expressionType": kind,
	}, nil)
	if err != nil {
		return nil, err
	}
	p := &Pulled{Code: f.Code, Remark: f.Remark}
	if f.Code != Success && (f.Code < PullNotFound || f.Code > PullOffsetMoved) {
		return nil, &Error{Request: codePull, Code: f.Code, Remark: f.Remark}
	}
	for name, to := range map[string]*int64{"nextBeginOffset": &p.Next, "minOffset": &p.Min, "maxOffset": &p.Max} {
		if *to, err = strconv.ParseInt(f.Ext[name], 10, 64); err != nil {
			return nil, fmt.Errorf("request %d: fields of the answer: %v", codePull, f.Ext)
		}
	}
	if f.Code == Success {
		p.Records, err = DecodeRecords(f.Body)
	}
	return p, err
}

// ReadQueue pulls everything from the first offset of a queue to its end.
func (c *Conn) ReadQueue(ctx context.Context, topic string, queue int) ([]*Record, error) {
	next, err := c.MinOffset(ctx, topic, queue)
	if err != nil {
		return nil, err
	}
	end, err := c.MaxOffset(ctx, topic, queue)
	if err != nil {
		return nil, err
	}
	return c.ReadRange(ctx, topic, queue, next, end)
}

// ReadRange pulls what a queue holds from one offset on, up to another. It fails where pulls do not get on.
func (c *Conn) ReadRange(ctx context.Context, topic string, queue int, next, end int64) ([]*Record, error) {
	var all []*Record
	for next < end {
		p, err := c.Pull(ctx, "judge-reader", topic, queue, next, "*")
		if err != nil {
			return all, err
		}
		if p.Next <= next {
			return all, fmt.Errorf("read %s/%d: stuck at %d of %d: code %d, %s", topic, queue, next, end, p.Code, p.Remark)
		}
		all = append(all, p.Records...)
		next = p.Next
	}
	return all, nil
}

func (c *Conn) offset(ctx context.Context, code int, ext map[string]string) (int64, error) {
	f, err := c.must(ctx, code, ext, nil)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(f.Ext["offset"], 10, 64)
}

func place(topic string, queue int) map[string]string {
	return map[string]string{"topic": topic, "queueId": strconv.Itoa(queue)}
}

// MaxOffset is the offset that the queue's next message will get.
func (c *Conn) MaxOffset(ctx context.Context, topic string, queue int) (int64, error) {
	return c.offset(ctx, codeMaxOffset, place(topic, queue))
}

// MinOffset is the offset of the queue's first message.
func (c *Conn) MinOffset(ctx context.Context, topic string, queue int) (int64, error) {
	return c.offset(ctx, codeMinOffset, place(topic, queue))
}

// SearchOffset is the offset of the message stored at or about a time in milliseconds.
func (c *Conn) SearchOffset(ctx context.Context, topic string, queue int, at int64) (int64, error) {
	ext := place(topic, queue)
	ext["timestamp"] = strconv.FormatInt(at, 10)
	return c.offset(ctx, codeSearchOffset, ext)
}

// QueryOffset is a group's committed offset; an Error with QueryNotFound if there is none.
func (c *Conn) QueryOffset(ctx context.Context, group, topic string, queue int) (int64, error) {
	ext := place(topic, queue)
	ext["consumerGroup"] = group
	return c.offset(ctx, codeQueryOffset, ext)
}

// UpdateOffset commits a group's offset.
func (c *Conn) UpdateOffset(ctx context.Context, group, topic string, queue int, offset int64) error {
	ext := place(topic, queue)
	ext["consumerGroup"] = group
	ext["commitOffset"] = strconv.FormatInt(offset, 10)
	_, err := c.must(ctx, codeUpdateOffset, ext, nil)
	return err
}

// Route is the name server's text about a topic.
func (c *Conn) Route(ctx context.Context, topic string) (string, error) {
	f, err := c.must(ctx, codeRoute, map[string]string{"topic": topic}, nil)
	if err != nil {
		return "", err
	}
	return string(f.Body), nil
}

// ClusterInfo is the name server's text about clusters and their brokers.
func (c *Conn) ClusterInfo(ctx context.Context) (string, error) {
	f, err := c.must(ctx, codeClusterInfo, nil, nil)
	if err != nil {
		return "", err
	}
	return string(f.Body), nil
}

// View reads the message at an offset of the log.
func (c *Conn) View(ctx context.Context, logOffset int64) (*Record, error) {
	f, err := c.must(ctx, codeView, map[string]string{"offset": strconv.FormatInt(logOffset, 10)}, nil)
	if err != nil {
		return nil, err
	}
	return decodeRecord(f.Body)
}
