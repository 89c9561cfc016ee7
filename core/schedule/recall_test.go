package schedule

import (
	"errors"
	"maps"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// recallRecorded is a handle that a RocketMQ 5 broker gave out.
const recallRecorded = "djEgVF9ERUxBWSBicm9rZXItYSAxNzk2MDg1NjkzMDAxIDAxQUFCQkNDRERFRUZGMDAwMDJCMEM0RTVBMDAwMDAwMDE="

func TestRecallCheck(t *testing.T) {
	h, _ := message.ParseRecallHandle(recallRecorded)
	if err := CheckRecall(&h, "T_DELAY", "broker-a", h.Time-2, timerLimit); err != nil {
		t.Error(err)
	}
	if err := CheckRecall(&h, "T_DELAY", "broker-a", h.Time-1-timerLimit, timerLimit); err != nil {
		t.Errorf("a message at the limit can't be recalled: %v", err)
	}
	refusal(t, "topic", CheckRecall(&h, "other", "broker-a", timerNow, timerLimit), "recall failed, topic not match")
	refusal(t, "broker", CheckRecall(&h, "T_DELAY", "broker-b", timerNow, timerLimit), "recall failed, broker service not available")
	refusal(t, "over", CheckRecall(&h, "T_DELAY", "broker-a", h.Time-1, timerLimit), "recall failed, timestamp invalid")
	refusal(t, "far", CheckRecall(&h, "T_DELAY", "broker-a", h.Time-2-timerLimit, timerLimit), "recall failed, timestamp invalid")
	h.Time = -1
	refusal(t, "no number", CheckRecall(&h, "T_DELAY", "broker-a", timerNow, timerLimit), "recall failed, timestamp invalid")
}

func refusal(t *testing.T, what string, err error, remark string) {
	t.Helper()
	if e, ok := errors.AsType[*message.Error](err); !ok || e.Code != message.IllegalOperation || e.Remark != remark {
		t.Errorf("%.60q: %v, want %s", what, err, remark)
	}
}

func TestTombstone(t *testing.T) {
	h := message.RecallHandle{Topic: "T", Broker: "b", Time: 1001, Key: "K"}
	got := Tombstone(nil, &h, "producers").Map()
	want := map[string]string{"TAGS": "_RECALL_TAG_", "TIMER_DEL_UNIQKEY": "T+K", "UNIQ_KEY": "K", "TIMER_DELIVER_MS": "1001", "PGROUP": "producers",
		"TIMER_OUT_MS": "1000", "REAL_TOPIC": "T", "REAL_QID": "0"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if _, ok := Tombstone(nil, &h, "").Map()["PGROUP"]; ok {
		t.Error("an empty group is stored")
	}
}
