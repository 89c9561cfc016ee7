package interop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestRefusals sends what a broker must not take, past the checks that clients make themselves. RocketMQ's code says
// what a client does next; the remark is for the person who reads its log.
func TestRefusals(t *testing.T) {
	t.Parallel()
	broker := sut.Start(t, sut.Options{NoAutoCreate: true})
	use(t, broker, func(ctx context.Context, c *raw.Conn) {
		must(t, c.CreateTopic(ctx, "Refusals", 2))
		stored := "n\x01" + strings.Repeat("x", 32_600) // the broker adds to it, up to 32,767 bytes
		taken := []raw.Message{
			{Topic: "Refusals", Body: make([]byte, 4<<20)},
			{Topic: "Refusals", Body: []byte("x"), Properties: stored},
			{Topic: "Refusals", Body: []byte("x"), Queue: -1},
		}
		for i, m := range taken {
			if _, err := c.Send(ctx, &m); err != nil {
				t.Errorf("at the limit, message %d: %v", i, err)
			}
		}
		t.Run("send", func(t *testing.T) { refusedSends(ctx, t, c) })
		t.Run("pull", func(t *testing.T) { refusedPulls(ctx, t, c) })
		t.Run("create topic", func(t *testing.T) { refusedTopics(ctx, t, c) })
		t.Run("unknown request", func(t *testing.T) {
			f, err := c.Call(ctx, 9999, nil, nil)
			if err != nil || f.Code != raw.CodeNotSupported || f.Remark == "" {
				t.Errorf("%+v, %v, want code 3 with a remark", f, err)
			}
		})
	})
}

func refusedSends(ctx context.Context, t *testing.T, c *raw.Conn) {
	cases := []struct {
		name    string
		message raw.Message
		code    int
	}{
		{name: "body over 4 MiB", message: raw.Message{Topic: "Refusals", Body: make([]byte, 4<<20+1)}, code: raw.MessageIllegal},
		{name: "properties over 32767 bytes", message: raw.Message{Topic: "Refusals", Properties: "n\x01" + strings.Repeat("x", 33_000)}, code: raw.MessageIllegal},
		{name: "queue out of range", message: raw.Message{Topic: "Refusals", Queue: 2}, code: raw.SystemError},
		{name: "unknown topic", message: raw.Message{Topic: "Nowhere"}, code: raw.TopicNotExist},
		{name: "blank topic", message: raw.Message{Topic: ""}, code: raw.SystemError},
		{name: "topic with a slash", message: raw.Message{Topic: "../Refusals"}, code: raw.SystemError},
		{name: "topic with a blank", message: raw.Message{Topic: "two words"}, code: raw.SystemError},
		{name: "topic of 128 characters", message: raw.Message{Topic: strings.Repeat("t", 128)}, code: raw.SystemError},
		{name: "system topic", message: raw.Message{Topic: "SCHEDULE_TOPIC_XXXX"}, code: raw.NoPermission},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			if k.message.Body == nil {
				k.message.Body = []byte("x")
			}
			_, err := c.Send(ctx, &k.message)
			expectRefusal(t, err, k.code)
		})
	}
}

func refusedPulls(ctx context.Context, t *testing.T, c *raw.Conn) {
	cases := []struct {
		name, topic, expression string
		queue, code             int
	}{
		{"unknown topic", "Nowhere", "*", 0, raw.TopicNotExist},
		{"queue out of range", "Refusals", "*", 2, raw.SystemError},
		{"negative queue", "Refusals", "*", -1, raw.SystemError},
		{"expression of nothing", "Refusals", "||", 0, 23},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			_, err := c.Pull(ctx, "refusal-group", k.topic, k.queue, 0, k.expression)
			expectRefusal(t, err, k.code)
		})
	}
}

func refusedTopics(ctx context.Context, t *testing.T, c *raw.Conn) {
	for _, name := range []string{"", "../Topic", "two words", strings.Repeat("t", 128), "SCHEDULE_TOPIC_XXXX", "TBW102"} {
		t.Run(name, func(t *testing.T) { expectRefusal(t, c.CreateTopic(ctx, name, 1), raw.SystemError) })
	}
}

func expectRefusal(t *testing.T, err error, code int) {
	t.Helper()
	var refused *raw.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%v, want it answered with code %d", err, code)
	}
	if refused.Code != code || len(refused.Remark) < 10 {
		t.Errorf("answered %d with remark %q, want %d with a remark", refused.Code, refused.Remark, code)
	}
}
