package topic

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

const testDir = "/data/config"

var testStart = time.UnixMilli(1_700_000_000_000)

func testSettings(fsys vfs.FS) Settings {
	return Settings{FS: fsys, Dir: testDir, Cluster: "DefaultCluster", Broker: "broker-a",
		Clock: clock.NewManual(testStart), Logger: slog.New(slog.DiscardHandler)}
}

func openTopics(t *testing.T, fsys vfs.FS, edit func(*Config)) *Topics {
	t.Helper()
	cfg := DefaultConfig()
	if edit != nil {
		edit(&cfg)
	}
	topics, err := OpenTopics(testSettings(fsys), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

func openGroups(t *testing.T, fsys vfs.FS, edit func(*GroupsConfig)) *Groups {
	t.Helper()
	cfg := DefaultGroupsConfig()
	if edit != nil {
		edit(&cfg)
	}
	groups, err := OpenGroups(testSettings(fsys), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func writeFile(t *testing.T, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll(testDir); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(fsys, filepath.Join(testDir, name), data); err != nil {
		t.Fatal(err)
	}
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wantRefusal checks code and remark of an error.
func wantRefusal(t *testing.T, err error, code message.Code, remark string) {
	t.Helper()
	var e *message.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a refusal with code %d", err, code)
	}
	if e.Code != code || e.Remark != remark {
		t.Fatalf("got  %d %s\nwant %d %s", e.Code, e.Remark, code, remark)
	}
}

func topicOf(name string, queues, perm int32) transport.TopicConfig {
	return *plain(name, queues, perm)
}
