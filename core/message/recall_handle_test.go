package message

import (
	"errors"
	"strings"
	"testing"
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
		recallRefused(t, text, func() error { _, err := ParseRecallHandle(text); return err }(), "recall handle is invalid")
	}
}

func recallRefused(t *testing.T, what string, err error, remark string) {
	t.Helper()
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != IllegalOperation || e.Remark != remark {
		t.Errorf("%.60q: %v, want %s", what, err, remark)
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
		if key, _ := h.AppendTombstone(nil).Get(PropTimerDelKey); string(key) != h.tombstoneKey() {
			t.Errorf("the tombstone's key is %q", key)
		}
	})
}
