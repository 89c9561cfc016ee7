package schedule

import (
	"errors"
	"maps"
	"testing"

	"github.com/weirmq/weir/core/message"
)

const (
	timerNow   = int64(1_796_085_692_345)
	timerLimit = int64(40 * 24 * 3600 * 1000)
)

func props(pairs ...string) (p message.Properties) {
	for i := 0; i < len(pairs); i += 2 {
		p = message.AppendProperty(p, pairs[i], pairs[i+1])
	}
	return p
}

func TestTimerDue(t *testing.T) {
	const tooLate = "timer message illegal, the delay time should not be bigger than the max delay 3456000000ms; or if set del msg, the delay time should be bigger than the current time"
	for name, c := range map[string]struct {
		p      message.Properties
		due    int64 // 0: doesn't wait
		remark string
	}{
		"no wish":             {p: props("TAGS", "a")},
		"no properties":       {},
		"deliver":             {p: props("TIMER_DELIVER_MS", "1796085692346"), due: timerNow + 1},
		"start deliver":       {p: props("__STARTDELIVERTIME", "1796085693345"), due: timerNow + 1000},
		"ms":                  {p: props("TIMER_DELAY_MS", "1"), due: timerNow + 1},
		"sec":                 {p: props("TIMER_DELAY_SEC", "2"), due: timerNow + 2000},
		"sec wins":            {p: props("TIMER_DELIVER_MS", "1796085699999", "TIMER_DELAY_MS", "5", "TIMER_DELAY_SEC", "3", "__STARTDELIVERTIME", "x"), due: timerNow + 3000},
		"ms before deliver":   {p: props("TIMER_DELIVER_MS", "x", "TIMER_DELAY_MS", "5"), due: timerNow + 5},
		"deliver before ons":  {p: props("__STARTDELIVERTIME", "1796085699999", "TIMER_DELIVER_MS", "1796085693345"), due: timerNow + 1000},
		"level wins":          {p: props("DELAY", "3", "TIMER_DELAY_MS", "5")},
		"level 0 doesn't":     {p: props("DELAY", "0", "TIMER_DELAY_MS", "5"), due: timerNow + 5},
		"has waited":          {p: props("TIMER_DELAY_MS", "5", "TIMER_OUT_MS", "1")},
		"now":                 {p: props("TIMER_DELIVER_MS", "1796085692345")},
		"past":                {p: props("TIMER_DELIVER_MS", "-9223372036854775808")},
		"delay 0":             {p: props("TIMER_DELAY_SEC", "0")},
		"delay below 0":       {p: props("TIMER_DELAY_SEC", "-9223372036854775808")},
		"limit":               {p: props("TIMER_DELAY_MS", "3456000000"), due: timerNow + timerLimit},
		"over the limit":      {p: props("TIMER_DELAY_MS", "3456000001"), remark: tooLate},
		"seconds overflow":    {p: props("TIMER_DELAY_SEC", "9223372036854775807"), remark: tooLate},
		"time overflows":      {p: props("TIMER_DELIVER_MS", "9223372036854775807"), remark: tooLate},
		"late tombstone":      {p: props("TIMER_DELIVER_MS", "1", "TIMER_DEL_UNIQKEY", "T+K"), remark: tooLate},
		"no number":           {p: props("TIMER_DELAY_MS", "5s"), remark: `property TIMER_DELAY_MS is "5s", which is not a whole number of 64 bits`},
		"empty":               {p: props("TIMER_DELIVER_MS", "")}, // no property at all, as Java reads it
		"more than 64 bits":   {p: props("__STARTDELIVERTIME", "9223372036854775808"), remark: `property __STARTDELIVERTIME is "9223372036854775808", which is not a whole number of 64 bits`},
		"tombstone in future": {p: props("TIMER_DELAY_MS", "9", "TIMER_DEL_UNIQKEY", "T+K"), due: timerNow + 9},
	} {
		due, timed, err := TimerDue(c.p, timerNow, timerLimit)
		if refused, ok := errors.AsType[*message.Error](err); c.remark != "" {
			if !ok || refused.Code != message.MessageIllegal || refused.Remark != c.remark || timed {
				t.Errorf("%s: %v, %v", name, timed, err)
			}
			continue
		}
		if err != nil || timed != (c.due != 0) || timed && due != c.due {
			t.Errorf("%s: %d, %v, %v; want %d", name, due-timerNow, timed, err, c.due-timerNow)
		}
	}
}

func TestTimerProperties(t *testing.T) {
	p := props("TAGS", "a", "REAL_TOPIC", "forged", "TIMER_DELIVER_MS", "77", "REAL_QID", "9")
	p = RedirectTimer(nil, p, 77, "orders", 3)
	if want := (map[string]string{"TAGS": "a", "TIMER_DELIVER_MS": "77", "TIMER_OUT_MS": "77", "REAL_TOPIC": "orders", "REAL_QID": "3"}); !maps.Equal(p.Map(), want) {
		t.Fatalf("waits with %v", p.Map())
	}
	p = RestoreTimer(nil, p, 50, 78)
	if want := (map[string]string{"TAGS": "a", "TIMER_DELIVER_MS": "77", "TIMER_OUT_MS": "77", "TIMER_ENQUEUE_MS": "50", "TIMER_DEQUEUE_MS": "78"}); !maps.Equal(p.Map(), want) {
		t.Fatalf("is delivered with %v", p.Map())
	}
	if _, timed, err := TimerDue(p, 10, timerLimit); timed || err != nil {
		t.Errorf("what was delivered waits again: %v, %v", timed, err)
	}
	if q := TimerQueue(); q.Topic != "rmq_sys_wheel_timer" || q.ID != 0 {
		t.Errorf("the queue is %v", q)
	}
}
