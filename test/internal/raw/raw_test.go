package raw_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestMain(m *testing.M) { sut.Main(m) }

// The judges' own client against a broker: what it sent is what it reads, over a clean restart and over a kill.
func TestSendReadRestart(t *testing.T) {
	broker := sut.Start(t, sut.Options{Flush: "sync", SegmentSize: 1 << 20, QueueEntries: 1000})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn := dial(ctx, t, broker)
	if err := conn.CreateTopic(ctx, "RawTopic", 2); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		sent, err := conn.Send(ctx, &raw.Message{
			Topic: "RawTopic", Queue: i % 2, Flag: i, Body: fmt.Appendf(nil, "body %d", i),
			Properties: raw.FormatProperties("TAGS", "TagA", "n", fmt.Sprint(i)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if sent.Queue != i%2 || sent.Offset != int64(i/2) || len(sent.ID) != 32 {
			t.Fatalf("message %d: sent to %+v", i, sent)
		}
	}
	batch, err := conn.SendBatch(ctx, []*raw.Message{
		{Topic: "RawTopic", Body: []byte("body 10"), Flag: 10, Properties: raw.FormatProperties("n", "10")},
		{Topic: "RawTopic", Body: []byte("body 12"), Flag: 12, Properties: raw.FormatProperties("n", "12")},
	})
	if err != nil || batch.Offset != 5 {
		t.Fatalf("batch: %+v, %v", batch, err)
	}
	if err := conn.UpdateOffset(ctx, "raw-group", "RawTopic", 0, 3); err != nil {
		t.Fatal(err)
	}
	check(ctx, t, conn)
	conn.Close()
	broker.Restart(t)
	conn = dial(ctx, t, broker)
	check(ctx, t, conn)
	if offset, err := conn.QueryOffset(ctx, "raw-group", "RawTopic", 0); err != nil || offset != 3 {
		t.Fatalf("offset after restart: %d, %v", offset, err)
	}
	conn.Close()
	broker.Kill()
	broker.Start(t)
	conn = dial(ctx, t, broker)
	check(ctx, t, conn)
	conn.Close()
}

func dial(ctx context.Context, t *testing.T, broker *sut.Broker) *raw.Conn {
	t.Helper()
	conn, err := raw.Dial(ctx, broker.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func check(ctx context.Context, t *testing.T, conn *raw.Conn) {
	t.Helper()
	for queue, count := range []int{7, 5} {
		records, err := conn.ReadQueue(ctx, "RawTopic", queue)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != count {
			t.Fatalf("queue %d holds %d messages, want %d", queue, len(records), count)
		}
		for i, r := range records {
			n := i*2 + queue
			want := fmt.Sprintf("body %d", n)
			if string(r.Body) != want || r.Flag != n || r.Properties["n"] != fmt.Sprint(n) || r.QueueOffset != int64(i) {
				t.Fatalf("queue %d offset %d: %q %+v, want %q", queue, i, r.Body, r, want)
			}
		}
	}
}
