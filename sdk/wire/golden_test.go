package wire

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// goldenFrame is one frame that a real client, broker or name server sent.
type goldenFrame struct {
	File        string
	RequestCode int32
	Kind        string // request, one-way request, response
	Recording   string
	Header      struct {
		Code      int32
		Language  json.RawMessage
		Version   int32
		Opaque    int32
		Flag      int32
		Remark    *string
		ExtFields map[string]*string
	}
	BodyLength int
	BodyKind   string

	bytes []byte
}

func (g *goldenFrame) response() bool { return g.Kind == "response" }

func goldenFrames(t testing.TB) []*goldenFrame {
	t.Helper()
	f, err := os.Open("testdata/frames.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "frames/")] = b
	}
	var index []*goldenFrame
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	for _, g := range index {
		g.bytes = files[g.File]
	}
	return index
}

// TestGoldenFrames decodes every frame that was recorded from real programs, compares with what the recorder understood, and encodes it
// again in both header types.
func TestGoldenFrames(t *testing.T) {
	frames := goldenFrames(t)
	if len(frames) < 690 {
		t.Fatalf("only %d frames", len(frames))
	}
	codes := map[int32]bool{}
	for _, g := range frames {
		codes[g.RequestCode] = true
		frame, n, err := NextFrame(g.bytes)
		if err != nil || n != len(g.bytes) {
			t.Errorf("%s: %d of %d bytes, %v", g.File, n, len(g.bytes), err)
			continue
		}
		var h Header
		body, err := h.Decode(frame)
		if err != nil {
			t.Errorf("%s: %v", g.File, err)
			continue
		}
		want := plain{Code: g.Header.Code, Version: g.Header.Version, Opaque: g.Header.Opaque, Flag: g.Header.Flag,
			Remark: g.Header.Remark, Ext: g.Header.ExtFields}
		lang := strings.Trim(string(g.Header.Language), `"`)
		if lang == "0" { // a bare ordinal
			lang = "JAVA"
		}
		want.Language = &lang
		if d := differs(&h, &want, true); d != "" || len(body) != g.BodyLength || g.response() != h.IsResponse() {
			t.Errorf("%s: %s differs, body of %d bytes", g.File, d, len(body))
		}
		for _, typ := range []Type{JSON, Binary} {
			h.Type = typ
			again, err := AppendFrame(nil, &h, body)
			if err != nil {
				t.Errorf("%s: %v", g.File, err)
				continue
			}
			var h2 Header
			body2, err := h2.Decode(again)
			if err != nil || !bytes.Equal(body2, body) {
				t.Errorf("%s as %v: %v", g.File, typ, err)
				continue
			}
			if d := differs(&h2, &want, true); d != "" {
				t.Errorf("%s as %v: %s differs", g.File, typ, d)
			}
		}
	}
	if len(codes) != 91 {
		t.Errorf("%d codes, want 91", len(codes))
	}
}

// requestHeader returns the typed header of a request; nil where it has none.
func requestHeader(code int32) any {
	switch code {
	case CodeSendMessage, CodeSendMessageV2, CodeSendBatchMessage, CodeSendReplyMessage, CodeSendReplyMessageV2:
		return &SendHeader{}
	case CodePullMessage, CodeLitePullMessage:
		return &PullHeader{}
	case CodeQueryMessage:
		return &QueryMessageHeader{}
	case CodeQueryConsumerOffset:
		return &QueryOffsetHeader{}
	case CodeUpdateConsumerOffset:
		return &UpdateOffsetHeader{}
	case CodeUpdateAndCreateTopic:
		return &CreateTopicHeader{}
	case CodeSearchOffsetByTimestamp:
		return &SearchOffsetHeader{}
	case CodeGetMaxOffset, CodeGetMinOffset, CodeGetEarliestMsgStoreTime:
		return &QueueHeader{}
	case CodeViewMessageByID:
		return &ViewMessageHeader{}
	case CodeUnregisterClient:
		return &UnregisterClientHeader{}
	case CodeConsumerSendMsgBack:
		return &SendBackHeader{}
	case CodeEndTransaction:
		return &EndTransactionHeader{}
	case CodeGetConsumerListByGroup, CodeNotifyConsumerIDsChanged, CodeGetConsumerConnectionList:
		return &GroupHeader{}
	case CodeCheckTransactionState:
		return &CheckTransactionHeader{}
	case CodeUpdateAndCreateACLConfig:
		return &CreateAccessHeader{}
	case CodeDeleteACLConfig:
		return &DeleteAccessHeader{}
	case CodeUpdateGlobalWhiteAddrsConfig:
		return &WhiteAddrsHeader{}
	case CodePutKVConfig:
		return &PutKVHeader{}
	case CodeGetKVConfig, CodeDeleteKVConfig:
		return &KVHeader{}
	case CodeRegisterBroker:
		return &RegisterBrokerHeader{}
	case CodeUnregisterBroker, CodeQueryDataVersion:
		return &BrokerHeader{}
	case CodeGetRouteInfoByTopic:
		return &RouteHeader{}
	case CodeGetTopicStatsInfo, CodeQueryTopicConsumeByWho, CodeGetTopicConfig:
		return &TopicHeader{}
	case CodeGetProducerConnectionList:
		return &ProducerGroupHeader{}
	case CodeWipeWritePermOfBroker, CodeAddWritePermOfBroker:
		return &BrokerNameHeader{}
	case CodeDeleteSubscriptionGroup:
		return &DeleteGroupHeader{}
	case CodeGetConsumeStats:
		return &ConsumeStatsHeader{}
	case CodeDeleteTopicInBroker, CodeDeleteTopicInNameServer:
		return &DeleteTopicHeader{}
	case CodeGetKVListByNamespace:
		return &NamespaceHeader{}
	case CodeResetConsumerClientOffset, CodeInvokeBrokerToResetOffset:
		return &ResetOffsetHeader{}
	case CodeGetConsumerStatusFromClient, CodeInvokeBrokerToGetConsumerStatus:
		return &ConsumerStatusHeader{}
	case CodeGetTopicsByCluster:
		return &ClusterHeader{}
	case CodeQueryConsumeTimeSpan:
		return &TimeSpanHeader{}
	case CodeGetConsumerRunningInfo:
		return &RunningInfoHeader{}
	case CodeQueryCorrectionOffset:
		return &CorrectionOffsetHeader{}
	case CodeConsumeMessageDirectly:
		return &ConsumeDirectlyHeader{}
	case CodeCloneGroupOffset:
		return &CloneOffsetHeader{}
	case CodeViewBrokerStatsData:
		return &BrokerStatsHeader{}
	case CodeGetBrokerConsumeStats:
		return &BrokerConsumeStatsHeader{}
	case CodeQueryConsumeQueue:
		return &QueryConsumeQueueHeader{}
	case CodeResumeCheckHalfMessage:
		return &HalfMessageHeader{}
	case CodePushReplyMessageToClient:
		return &PushReplyHeader{}
	}
	return nil
}

// replyHeader returns the typed header of a successful reply; nil where it has none.
func replyHeader(code int32) any {
	switch code {
	case CodeSendMessage, CodeSendMessageV2, CodeSendBatchMessage, CodeSendReplyMessage, CodeSendReplyMessageV2:
		return &SendReply{}
	case CodePullMessage:
		return &PullReply{}
	case CodeQueryMessage:
		return &QueryMessageReply{}
	case CodeQueryConsumerOffset, CodeSearchOffsetByTimestamp, CodeGetMaxOffset, CodeGetMinOffset:
		return &OffsetReply{}
	case CodeGetEarliestMsgStoreTime:
		return &TimestampReply{}
	case CodeGetKVConfig:
		return &KVReply{}
	case CodeRegisterBroker:
		return &RegisterBrokerReply{}
	case CodeQueryDataVersion:
		return &DataVersionReply{}
	case CodeWipeWritePermOfBroker:
		return &WipeReply{}
	case CodeAddWritePermOfBroker:
		return &AddReply{}
	case CodeGetBrokerConfig:
		return &VersionReply{}
	case CodeGetBrokerClusterACLInfo:
		return &ACLInfoReply{}
	}
	return nil
}

// TestGoldenTypedHeaders reads the ext fields of every recorded frame through its typed header and expects to write them again, but for
// those that every client adds or that nobody reads.
func TestGoldenTypedHeaders(t *testing.T) {
	ignored := map[string]bool{"bname": true, "brokerName": true, "AccessKey": true, "Signature": true, "SecurityToken": true, "OnsChannel": true,
		"MSG_REGION": true, "TRACE_ON": true, "ns": true, "nsd": true, "oway": true, "lo": true, "maxMsgBytes": true,
		"requestSource": true, "proxyFrowardClientId": true, "ReqT": true,
		"indexType": true, "force": true, "committed": true} // the last three come from 5.x
	extra := map[string]bool{"33.topic": true, "37.topic": true, "323.topic": true}
	typed := 0
	for _, g := range goldenFrames(t) {
		var h Header
		if _, err := h.Decode(g.bytes); err != nil {
			t.Fatal(err)
		}
		x := requestHeader(g.RequestCode)
		if g.response() {
			if x = replyHeader(g.RequestCode); h.Code != 0 {
				continue
			}
		}
		h.Code = g.RequestCode
		if x == nil {
			for _, f := range h.Ext {
				if !ignored[string(f.Key)] && !g.response() {
					t.Errorf("%s: nobody reads %s", g.File, f.Key)
				}
			}
			continue
		}
		typed++
		if err := read(x, &h); err != nil {
			if !strings.Contains(g.Recording, "acl") { // wrong on purpose there
				t.Errorf("%s: %v", g.File, err)
			}
			continue
		}
		again := Header{Code: g.RequestCode}
		write(x, &again)
		for _, f := range h.Ext {
			got, ok := again.Get(string(f.Key))
			if ignored[string(f.Key)] || extra[fmt.Sprintf("%d.%s", g.RequestCode, f.Key)] || len(f.Value) == 0 && len(got) == 0 {
				continue
			}
			if !ok || !bytes.Equal(got, f.Value) {
				t.Errorf("%s: field %s is %q, want %q", g.File, f.Key, got, f.Value)
			}
		}
	}
	if typed < 300 {
		t.Errorf("only %d typed headers", typed)
	}
}

func goldenBody(code int32, response bool) any {
	if !response {
		switch code {
		case CodeHeartbeat:
			return &Heartbeat{}
		case CodeLockBatchMQ, CodeUnlockBatchMQ:
			return &LockBatch{}
		case CodeCheckClientConfig:
			return &CheckClient{}
		case CodeRegisterBroker:
			return &RegisterBroker{}
		case CodeUpdateAndCreateSubscriptionGroup:
			return &GroupConfig{}
		case CodeResetConsumerClientOffset:
			return &OffsetTable{}
		case CodeQueryDataVersion:
			return &DataVersion{}
		}
		return nil
	}
	switch code {
	case CodeGetAllTopicConfig:
		return &TopicTable{}
	case CodeGetBrokerRuntimeInfo, CodeRegisterBroker, CodeGetKVListByNamespace:
		return &KVTable{}
	case CodeGetConsumerListByGroup:
		return &ConsumerList{}
	case CodeLockBatchMQ:
		return &LockReply{}
	case CodeGetAllConsumerOffset:
		return &ConsumerOffsets{}
	case CodeGetAllDelayOffset:
		return &DelayOffsets{}
	case CodeGetBrokerClusterACLConfig:
		return &ACLConfig{}
	case CodeGetRouteInfoByTopic:
		return &TopicRoute{}
	case CodeGetBrokerClusterInfo:
		return &ClusterInfo{}
	case CodeGetAllSubscriptionGroupConfig:
		return &GroupTable{}
	case CodeGetTopicStatsInfo:
		return &TopicStats{}
	case CodeGetConsumerConnectionList:
		return &ConsumerConnection{}
	case CodeGetProducerConnectionList:
		return &ProducerConnection{}
	case CodeGetConsumeStats:
		return &ConsumeStats{}
	case CodeGetAllTopicListFromNameServer, CodeGetTopicsByCluster, CodeGetSystemTopicListFromNS, CodeGetSystemTopicListFromBroker,
		CodeGetUnitTopicList, CodeGetHasUnitSubTopicList, CodeGetHasUnitSubUnUnitTopicList:
		return &TopicList{}
	case CodeGetConsumerStatusFromClient, CodeInvokeBrokerToGetConsumerStatus:
		return &ConsumerStatus{}
	case CodeInvokeBrokerToResetOffset:
		return &OffsetTable{}
	case CodeQueryTopicConsumeByWho:
		return &GroupList{}
	case CodeQueryConsumeTimeSpan:
		return &TimeSpans{}
	case CodeGetConsumerRunningInfo:
		return &RunningInfo{}
	case CodeQueryCorrectionOffset:
		return &CorrectionOffsets{}
	case CodeConsumeMessageDirectly:
		return &ConsumeDirectlyResult{}
	case CodeViewBrokerStatsData:
		return &BrokerStats{}
	case CodeGetBrokerConsumeStats:
		return &ConsumeStatsList{}
	case CodeQueryConsumeQueue:
		return &ConsumeQueueReply{}
	case CodeQueryDataVersion:
		return &DataVersion{}
	case CodeGetAllProducerInfo:
		return &ProducerTable{}
	}
	return nil
}

// TestGoldenBodies reads every recorded body and, where it is JSON, writes it again: all of its members must come back.
func TestGoldenBodies(t *testing.T) {
	kinds := map[string]int{}
	for _, g := range goldenFrames(t) {
		var h Header
		body, err := h.Decode(g.bytes)
		if err != nil {
			t.Fatal(err)
		}
		kinds[strings.Fields(g.BodyKind)[0]]++
		switch kind, _, _ := strings.Cut(g.BodyKind, " "); kind {
		case "json":
			checkJSONBody(t, g, body)
		case "records":
			for len(body) > 0 {
				_, n, err := message.ParseRecord(body)
				if err != nil {
					t.Errorf("%s: %v", g.File, err)
					break
				}
				body = body[n:]
			}
		case "batch":
			if n, err := message.Batch(body).Count(); err != nil || n == 0 {
				t.Errorf("%s: %d messages, %v", g.File, n, err)
			}
		}
	}
	if kinds["json"] < 100 || kinds["records"] < 15 || kinds["batch"] < 5 {
		t.Errorf("bodies: %v", kinds)
	}
}

func checkJSONBody(t *testing.T, g *goldenFrame, body []byte) {
	t.Helper()
	x := goldenBody(g.RequestCode, g.response())
	if x == nil {
		t.Errorf("%s: no struct for its body", g.File)
		return
	}
	if err := ParseBody(body, x); err != nil {
		t.Errorf("%s: %v", g.File, err)
		return
	}
	again, err := AppendBody(nil, x)
	if err != nil {
		t.Errorf("%s: %v", g.File, err)
		return
	}
	if d := uncovered(tree(t, body), tree(t, again)); d != "" {
		t.Errorf("%s (%s): %s:\n%s\n%s", g.File, g.Recording, d, body, again)
	}
	if !strings.HasPrefix(g.Recording, "java-4.9.7") {
		return
	}
	if d := uncovered(tree(t, again), tree(t, body)); d != "" {
		t.Errorf("%s: we add %s:\n%s\n%s", g.File, d, body, again)
	}
	if !json.Valid(body) { // bare keys
		return
	}
	if fmt.Sprint(tree(t, body)) != fmt.Sprint(tree(t, again)) {
		t.Errorf("%s:\n%s\n%s", g.File, body, again)
	}
}
