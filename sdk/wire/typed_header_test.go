package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// adapter lets the two hand-written headers and replies take part in tests of the others.
type codec interface {
	Decode(h *Header) error
	Encode(h *Header)
}

func read(x any, h *Header) error {
	if c, ok := x.(codec); ok {
		return c.Decode(h)
	}
	return h.Read(x.(Fields))
}

func write(x any, h *Header) {
	if c, ok := x.(codec); ok {
		c.Encode(h)
	} else {
		h.Write(x.(Fields))
	}
}

// typedHeaders maps Java's header classes to ours. nil: 4.9.7 has the class, nothing we know sends it or it has no fields.
func typedHeaders() map[string]any {
	return map[string]any{
		"CheckTransactionStateRequestHeader": &CheckTransactionHeader{}, "CheckTransactionStateResponseHeader": nil,
		"CloneGroupOffsetRequestHeader": &CloneOffsetHeader{}, "ConsumeMessageDirectlyResultRequestHeader": &ConsumeDirectlyHeader{},
		"ConsumerSendMsgBackRequestHeader": &SendBackHeader{}, "CreateAccessConfigRequestHeader": &CreateAccessHeader{},
		"CreateTopicRequestHeader": &CreateTopicHeader{}, "DeleteAccessConfigRequestHeader": &DeleteAccessHeader{},
		"DeleteSubscriptionGroupRequestHeader": &DeleteGroupHeader{}, "DeleteTopicRequestHeader": &DeleteTopicHeader{},
		"EndTransactionRequestHeader": &EndTransactionHeader{}, "EndTransactionResponseHeader": nil, "GetAllProducerInfoRequestHeader": nil,
		"GetAllTopicConfigResponseHeader": nil, "GetBrokerAclConfigResponseHeader": &ACLInfoReply{},
		"GetBrokerClusterAclConfigResponseHeader": nil, "GetBrokerConfigResponseHeader": &VersionReply{},
		"GetConsumeStatsInBrokerHeader": &BrokerConsumeStatsHeader{}, "GetConsumeStatsRequestHeader": &ConsumeStatsHeader{},
		"GetConsumerConnectionListRequestHeader": &GroupHeader{}, "GetConsumerListByGroupRequestHeader": &GroupHeader{},
		"GetConsumerListByGroupResponseHeader": nil, "GetConsumerRunningInfoRequestHeader": &RunningInfoHeader{},
		"GetConsumerStatusRequestHeader": &ConsumerStatusHeader{}, "GetEarliestMsgStoretimeRequestHeader": &QueueHeader{},
		"GetEarliestMsgStoretimeResponseHeader": &TimestampReply{}, "GetMaxOffsetRequestHeader": &QueueHeader{},
		"GetMaxOffsetResponseHeader": &OffsetReply{}, "GetMinOffsetRequestHeader": &QueueHeader{}, "GetMinOffsetResponseHeader": &OffsetReply{},
		"GetProducerConnectionListRequestHeader": &ProducerGroupHeader{}, "GetTopicStatsInfoRequestHeader": &TopicHeader{},
		"GetTopicsByClusterRequestHeader": &ClusterHeader{}, "NotifyConsumerIdsChangedRequestHeader": &GroupHeader{},
		"PullMessageRequestHeader": &PullHeader{}, "PullMessageResponseHeader": &PullReply{},
		"QueryConsumeQueueRequestHeader": &QueryConsumeQueueHeader{}, "QueryConsumeTimeSpanRequestHeader": &TimeSpanHeader{},
		"QueryConsumerOffsetRequestHeader": &QueryOffsetHeader{}, "QueryConsumerOffsetResponseHeader": &OffsetReply{},
		"QueryCorrectionOffsetHeader": &CorrectionOffsetHeader{}, "QueryMessageRequestHeader": &QueryMessageHeader{},
		"QueryMessageResponseHeader": &QueryMessageReply{}, "QueryTopicConsumeByWhoRequestHeader": &TopicHeader{},
		"ReplyMessageRequestHeader": &PushReplyHeader{}, "ResetOffsetRequestHeader": &ResetOffsetHeader{},
		"ResumeCheckHalfMessageRequestHeader": &HalfMessageHeader{}, "SearchOffsetRequestHeader": &SearchOffsetHeader{},
		"SearchOffsetResponseHeader": &OffsetReply{}, "SendMessageRequestHeader": &SendHeader{}, "SendMessageRequestHeaderV2": &SendHeader{},
		"SendMessageResponseHeader": &SendReply{}, "UnregisterClientRequestHeader": &UnregisterClientHeader{},
		"UnregisterClientResponseHeader": nil, "UpdateConsumerOffsetRequestHeader": &UpdateOffsetHeader{},
		"UpdateConsumerOffsetResponseHeader": nil, "UpdateGlobalWhiteAddrsConfigRequestHeader": &WhiteAddrsHeader{},
		"ViewBrokerStatsDataRequestHeader": &BrokerStatsHeader{}, "ViewMessageRequestHeader": &ViewMessageHeader{},
		"ViewMessageResponseHeader": nil, "RegisterFilterServerRequestHeader": nil, "RegisterFilterServerResponseHeader": nil,
		"RegisterMessageFilterClassRequestHeader": nil, "AddWritePermOfBrokerRequestHeader": &BrokerNameHeader{},
		"AddWritePermOfBrokerResponseHeader": &AddReply{}, "DeleteKVConfigRequestHeader": &KVHeader{},
		"DeleteTopicFromNamesrvRequestHeader": &DeleteTopicHeader{}, "GetKVConfigRequestHeader": &KVHeader{},
		"GetKVConfigResponseHeader": &KVReply{}, "GetKVListByNamespaceRequestHeader": &NamespaceHeader{},
		"GetRouteInfoRequestHeader": &RouteHeader{}, "PutKVConfigRequestHeader": &PutKVHeader{},
		"QueryDataVersionRequestHeader": &BrokerHeader{}, "QueryDataVersionResponseHeader": &DataVersionReply{},
		"RegisterBrokerRequestHeader": &RegisterBrokerHeader{}, "RegisterBrokerResponseHeader": &RegisterBrokerReply{},
		"RegisterOrderTopicRequestHeader": nil, "UnRegisterBrokerRequestHeader": &BrokerHeader{},
		"WipeWritePermOfBrokerRequestHeader": &BrokerNameHeader{}, "WipeWritePermOfBrokerResponseHeader": &WipeReply{},
	}
}

// notNeeded are fields that Java marks required and never misses, so that we don't insist either.
var notNeeded = map[string]bool{"clientID": true, "haServerAddr": true, "aclFileFullPath": true, "EndTransactionRequestHeader.msgId": true,
	"CreateTopicRequestHeader.defaultTopic": true}

// TestTypedHeaderVectors checks every field of every header class: it is read and written under its name, it is missed by name when Java
// requires it, and a number that is none is refused by name.
func TestTypedHeaderVectors(t *testing.T) {
	type field struct{ Name, Type, Mark string }
	vec := load[struct {
		Headers []struct {
			Name, Codes string
			Fields      []field
		}
	}](t, "headers.json")
	typed := typedHeaders()
	for _, v := range vec.Headers {
		x, known := typed[v.Name]
		if !known {
			t.Errorf("%s is unknown", v.Name)
		}
		if x == nil {
			continue
		}
		code := int32(0)
		if v.Codes != "" {
			fmt.Sscan(strings.ReplaceAll(v.Codes, ",", " "), &code)
		}
		value := func(f field) string {
			switch strings.ToLower(f.Type) {
			case "string":
				return "text of " + f.Name
			case "boolean":
				return "true"
			}
			return fmt.Sprint(len(f.Name))
		}
		full := func(skip, bad string) *Header {
			h := &Header{Code: code}
			for _, f := range v.Fields {
				switch f.Name {
				case skip:
				case bad:
					h.SetString(f.Name, "x1")
				default:
					h.SetString(f.Name, value(f))
				}
			}
			return h
		}
		if err := read(x, full("", "")); err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		again := &Header{Code: code}
		write(x, again)
		for _, f := range v.Fields {
			if got, ok := again.Get(f.Name); !ok || string(got) != value(f) {
				t.Errorf("%s.%s: written %q, want %q", v.Name, f.Name, got, value(f))
			}
			err := read(x, full(f.Name, ""))
			needed := f.Mark == "required" && strings.ToLower(f.Type) != "boolean" && !notNeeded[f.Name] && !notNeeded[v.Name+"."+f.Name]
			if needed != (err != nil) || err != nil && !strings.Contains(err.Error(), "the request has no field "+f.Name) {
				t.Errorf("%s without %s: %v", v.Name, f.Name, err)
			}
			if strings.HasPrefix(value(f), "text") {
				continue
			}
			err = read(x, full("", f.Name))
			var e *message.Error
			if isBool := strings.ToLower(f.Type) == "boolean"; isBool != (err == nil) ||
				err != nil && (!errors.As(err, &e) || e.Code != message.SystemError || !strings.HasPrefix(e.Remark, "the request's field "+f.Name+` is "x1"`)) {
				t.Errorf("%s with bad %s: %v", v.Name, f.Name, err)
			}
		}
	}
}

func TestSendHeaderForms(t *testing.T) {
	var h Header
	if _, err := h.Decode(rawFrame(JSON, []byte(sendHeaderJSON), nil)); err != nil {
		t.Fatal(err)
	}
	var s SendHeader
	if err := s.Decode(&h); err != nil {
		t.Fatal(err)
	}
	if string(s.Topic) != "TopicTest" || s.QueueID != 2 || s.BornTimestamp != 1700000000000 || s.HasMaxReconsumeTimes || s.Batch ||
		string(s.Properties) != "UNIQ_KEY\x017F0000010EA818B4AAC20B1A2C3D0000\x02WAIT\x01true\x02TAGS\x01TagA" {
		t.Errorf("%+v", s)
	}
	s.HasMaxReconsumeTimes, s.MaxReconsumeTimes = true, 3
	for _, code := range []int32{CodeSendMessage, CodeSendMessageV2, CodeSendBatchMessage, CodeSendReplyMessage, CodeSendReplyMessageV2} {
		out := Header{Code: code}
		s.Encode(&out)
		var again SendHeader
		if err := again.Decode(&out); err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%d: %+v, %v", code, again, err)
		}
		if _, long := out.Get("topic"); long == SendCodeV2(code) {
			t.Errorf("%d: keys are long: %v", code, long)
		}
	}
	if err := s.Decode(&Header{Code: 310}); err == nil || err.Error() != "SYSTEM_ERROR: the request has no field a (producerGroup)" {
		t.Error(err)
	}
}

func TestOptionalForms(t *testing.T) {
	var q QueryOffsetHeader
	h := &Header{}
	h.SetString("consumerGroup", "g")
	h.SetString("topic", "t")
	h.SetInt("queueId", 1)
	for set, want := range map[string]bool{"": false, "true": false, "false": true} {
		one := &Header{Ext: h.Ext}
		if set != "" {
			one.SetString("setZeroIfNotFound", set)
		}
		if err := one.Read(&q); err != nil || q.StrictlyStored != want {
			t.Errorf("setZeroIfNotFound %q: %v %v", set, q.StrictlyStored, err)
		}
	}
	out := &Header{}
	out.Write(&q)
	_, written := out.Get("setZeroIfNotFound")
	if written != q.StrictlyStored {
		t.Errorf("written %v", written)
	}
}

func TestTypedHeaderAllocs(t *testing.T) {
	var h, reply Header
	frame := rawFrame(JSON, []byte(sendHeaderJSON), nil)
	pull := Header{Code: CodePullMessage}
	(&PullHeader{ConsumerGroup: []byte("g"), Topic: []byte("t")}).Encode(&pull)
	var out []byte
	n := testing.AllocsPerRun(100, func() {
		_, _ = h.Decode(frame)
		var s SendHeader
		if s.Decode(&h) != nil {
			t.Fatal("send")
		}
		var p PullHeader
		if p.Decode(&pull) != nil {
			t.Fatal("pull")
		}
		reply.Reply(&h, 0)
		(&PullReply{0, 1, 2, 3}).Encode(&reply)
		(&SendReply{MsgID: s.Topic}).Encode(&reply)
		reply.SetTrace("DefaultRegion", true)
		out, _ = AppendFrame(out[:0], &reply, nil)
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkSendHeader(b *testing.B) {
	for name, frame := range sendFrames(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var h Header
			var s SendHeader
			for b.Loop() {
				_, _ = h.Decode(frame)
				if err := s.Decode(&h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
