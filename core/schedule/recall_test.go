package schedule

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// recallRecorded is a handle that a RocketMQ 5 broker gave out.
const recallRecorded = "djEgVF9ERUxBWSBicm9rZXItYSAxNzk2MDg1NjkzMDAxIDAxQUFCQkNDRERFRUZGMDAwMDJCMEM0RTVBMDAwMDAwMDE="

func TestRecallHandle(t *testing.T) {
	want := RecallHandle{Topic: "T_DELAY", Broker: "broker-a", Time: 1796085693001, Key: "01AABBCCDDEEFF00002B0C4E5A00000001"}
	for _, text := range []string{recallRecorded, strings.TrimRight(recallRecorded, "=")} {
		if h, err := ParseRecallHandle(text); err != nil || h != want {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	if want.String() != recallRecorded {
		t.Errorf("written as %s", want.String())
	}
	for _, text := range []string{"", "=", "!", "djE=", recallRecorded[:40], recallRecorded + "\n", "djIgYSBiIDEgYw==", "djEgYSBiIDEg", "djEgYSBiIDEgAg==",
		strings.Repeat("A", recallMax+1)} {
		refusal(t, text, func() error { _, err := ParseRecallHandle(text); return err }(), "recall handle is invalid")
	}
}

func TestRecallCheck(t *testing.T) {
	h, _ := ParseRecallHandle(recallRecorded)
	if err := h.Check("T_DELAY", "broker-a", h.Time-2, timerLimit); err != nil {
		t.Error(err)
	}
	if err := h.Check("T_DELAY", "broker-a", h.Time-1-timerLimit, timerLimit); err != nil {
		t.Errorf("a message at the limit can't be recalled: %v", err)
	}
	refusal(t, "topic", h.Check("other", "broker-a", timerNow, timerLimit), "recall failed, topic not match")
	refusal(t, "broker", h.Check("T_DELAY", "broker-b", timerNow, timerLimit), "recall failed, broker service not available")
	refusal(t, "over", h.Check("T_DELAY", "broker-a", h.Time-1, timerLimit), "recall failed, timestamp invalid")
	refusal(t, "far", h.Check("T_DELAY", "broker-a", h.Time-2-timerLimit, timerLimit), "recall failed, timestamp invalid")
	h.Time = -1
	refusal(t, "no number", h.Check("T_DELAY", "broker-a", timerNow, timerLimit), "recall failed, timestamp invalid")
}

func refusal(t *testing.T, what string, err error, remark string) {
	t.Helper()
	if e, ok := errors.AsType[*message.Error](err); !ok || e.Code != message.IllegalOperation || e.Remark != remark {
		t.Errorf("%.60q: %v, want %s", what, err, remark)
	}
}

func TestTombstone(t *testing.T) {
	h := RecallHandle{Topic: "T", Broker: "b", Time: 1001, Key: "K"}
	got := h.Tombstone(nil, "producers").Map()
	want := map[string]string{"TAGS": "_RECALL_TAG_", "TIMER_DEL_UNIQKEY": "T+K", "UNIQ_KEY": "K", "TIMER_DELIVER_MS": "1001", "PGROUP": "producers",
		"TIMER_OUT_MS": "1000", "REAL_TOPIC": "T", "REAL_QID": "0"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if _, ok := h.Tombstone(nil, "").Map()["PGROUP"]; ok {
		t.Error("an empty group is stored")
	}
}

func FuzzRecallHandle(f *testing.F) {
	f.Add(recallRecorded)
	f.Add("djEgYSBiIHggYw==")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseRecallHandle(text)
		if err != nil {
			return
		}
		if again, err := ParseRecallHandle(h.String()); len(h.String()) <= recallMax && (err != nil || again != h) {
			t.Errorf("%+v comes back as %+v, %v", h, again, err)
		}
		if key, _ := h.Tombstone(nil, "g").Get(message.PropTimerDelKey); string(key) != h.tombstoneKey() {
			t.Errorf("the tombstone's key is %q", key)
		}
	})
}
