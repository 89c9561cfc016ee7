package message

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestNameVectors(t *testing.T) {
	for _, v := range load[struct {
		Names []struct {
			Name        string
			BrokerValid bool
			System      any
			Closed      bool
			ClientGroup string
		}
	}](t, "validators.json").Names {
		if err := CheckTopic(v.Name); (err == nil) != v.BrokerValid {
			t.Errorf("topic %q: %v, want valid %v", v.Name, err, v.BrokerValid)
		}
		if err := CheckGroup(v.Name); (err == nil) != (v.ClientGroup == "ok") {
			t.Errorf("group %q: %v, want %s", v.Name, err, v.ClientGroup)
		}
		if want, ok := v.System.(bool); ok && IsSystemTopic(v.Name) != want {
			t.Errorf("system %q: want %v", v.Name, want)
		}
		if IsClosedTopic(v.Name) != v.Closed {
			t.Errorf("closed %q: want %v", v.Name, v.Closed)
		}
	}
	for _, v := range load[struct {
		Topics []struct {
			Name, Retry, DeadLetter, Reply string
			LMQ, SysGroup                  bool
		}
	}](t, "names.json").Topics {
		if RetryTopic(v.Name) != v.Retry || DLQTopic(v.Name) != v.DeadLetter || ReplyTopic(v.Name) != v.Reply ||
			IsLMQ(v.Name) != v.LMQ || IsSystemGroup(v.Name) != v.SysGroup {
			t.Errorf("%+v", v)
		}
		if g, ok := RetryGroup(v.Retry); !ok || g != v.Name || !IsRetryTopic(v.Retry) || !IsDLQTopic(v.DeadLetter) {
			t.Errorf("%+v: group %q", v, g)
		}
	}
	for _, topic := range SystemTopics() {
		if !IsSystemTopic(topic) {
			t.Errorf("%s is no system topic", topic)
		}
	}
}

func TestNameErrors(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "the topic name is empty",
		" \t":                    "the topic name is empty",
		"../etc":                 `the topic name "../etc" has the illegal character '.' at position 0, allowed are a-z A-Z 0-9 % | - _`,
		"a/b":                    `the topic name "a/b" has the illegal character '/' at position 1, allowed are a-z A-Z 0-9 % | - _`,
		strings.Repeat("t", 128): `the topic name "tttttttttttttttttttttttt"… has 128 characters, at most 127 are allowed`,
	} {
		var e *Error
		if err := CheckTopic(name); !errors.As(err, &e) || e.Code != SystemError || e.Remark != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestKnownNames(t *testing.T) {
	for name, want := range map[string]struct{ topic, group bool }{
		"T": {true, true}, "%RETRY%my.group": {true, true}, "a b": {true, true}, "中文": {true, true}, "..a": {true, true},
		"": {}, ".": {false, true}, "..": {false, true}, "../a": {}, "a\\b": {}, "a\x00": {}, "a@b": {true, false},
		strings.Repeat("t", 127): {true, true}, strings.Repeat("t", 128): {false, true}, strings.Repeat("g", 256): {},
	} {
		if got := CheckKnownTopic(name) == nil; got != want.topic {
			t.Errorf("topic %q is known: %v, want %v", name, got, want.topic)
		}
		if got := CheckKnownGroup(name) == nil; got != want.group {
			t.Errorf("group %q is known: %v, want %v", name, got, want.group)
		}
	}
}

func TestConstantVectors(t *testing.T) {
	vec := load[struct {
		MessageSysFlag map[string]int32
		PullSysFlag    map[string]int32
		TopicSysFlag   map[string]int32
		Perm           map[string]Perm
		ResponseCodes  map[string]Code
		Properties     map[string]string
		CommitLog      map[string]int32
		Topics         map[string]any
	}](t, "constants.json")
	for name, c := range vec.ResponseCodes {
		if got := c.String(); got != name && !strings.HasPrefix(got, "CODE_") {
			t.Errorf("%d is %s, want %s", c, got, name)
		}
	}
	ours := []string{PropKeys, PropTags, PropWait, PropDelay, PropRetryTopic, PropRealTopic, PropRealQueueID, PropTransaction,
		PropProducerGroup, PropMinOffset, PropMaxOffset, PropBuyerID, PropOriginMessageID, PropTransferFlag, PropCorrectionFlag,
		PropMQ2Flag, PropReconsumeTime, PropMsgRegion, PropTraceOn, PropUniqKey, PropMaxReconsume, PropConsumeStart,
		PropPreparedOffset, PropCheckTimes, PropCheckImmunity, PropInstanceID, PropCorrelationID, PropReplyToClient, PropTTL,
		PropArriveTime, PropPushReplyTime, PropCluster, PropMessageType, PropMultiDispatch, PropMultiQueueOffset}
	for name, v := range vec.Properties {
		if !slices.Contains(ours, v) {
			t.Errorf("property %s = %s is missing", name, v)
		}
	}
	for name, want := range map[string]bool{
		"flags": vec.MessageSysFlag["COMPRESSED_FLAG"] == FlagCompressed && vec.MessageSysFlag["MULTI_TAGS_FLAG"] == FlagMultiTags &&
			vec.MessageSysFlag["TRANSACTION_PREPARED_TYPE"] == FlagPrepared && vec.MessageSysFlag["TRANSACTION_COMMIT_TYPE"] == FlagCommit &&
			vec.MessageSysFlag["TRANSACTION_ROLLBACK_TYPE"] == FlagRollback && vec.MessageSysFlag["BORNHOST_V6_FLAG"] == FlagBornHostV6 &&
			vec.MessageSysFlag["STOREHOSTADDRESS_V6_FLAG"] == FlagStoreHostV6 && vec.MessageSysFlag["NEED_UNWRAP_FLAG"] == FlagNeedUnwrap &&
			vec.MessageSysFlag["INNER_BATCH_FLAG"] == FlagInnerBatch && vec.MessageSysFlag["COMPRESSION_LZ4_TYPE"] == FlagLZ4 &&
			vec.MessageSysFlag["COMPRESSION_ZSTD_TYPE"] == FlagZstd && vec.MessageSysFlag["COMPRESSION_ZLIB_TYPE"] == FlagZlib &&
			vec.MessageSysFlag["COMPRESSION_TYPE_COMPARATOR"] == FlagCompressionMask,
		"pull": vec.PullSysFlag["FLAG_COMMIT_OFFSET"] == PullCommitOffset && vec.PullSysFlag["FLAG_SUSPEND"] == PullSuspend &&
			vec.PullSysFlag["FLAG_SUBSCRIPTION"] == PullSubscription && vec.PullSysFlag["FLAG_CLASS_FILTER"] == PullClassFilter &&
			vec.PullSysFlag["FLAG_LITE_PULL_MESSAGE"] == PullLite,
		"topic": vec.TopicSysFlag["FLAG_UNIT"] == TopicUnit && vec.TopicSysFlag["FLAG_UNIT_SUB"] == TopicUnitSub,
		"perm": vec.Perm["PERM_READ"] == PermRead && vec.Perm["PERM_WRITE"] == PermWrite && vec.Perm["PERM_INHERIT"] == PermInherit &&
			vec.Perm["PERM_PRIORITY"] == PermPriority,
		"magic": vec.CommitLog["MESSAGE_MAGIC_CODE"] == Magic && vec.CommitLog["BLANK_MAGIC_CODE"] == BlankMagic,
	} {
		if !want {
			t.Errorf("%s differ from Java's", name)
		}
	}
	if got := (PermRW | PermInherit).String() + PermRead.String() + Perm(0).String(); got != "RWXR-----" {
		t.Errorf("perm %s", got)
	}
}
