package topic

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Settings is what code hands to the tables; Config and GroupsConfig are what operators set. All fields must be set.
type Settings struct {
	FS vfs.FS
	// Dir is the directory of the files: data_dir/config. It is made when first written to.
	Dir string
	// Cluster and Broker are the names of the cluster and of this broker: both are topics, too.
	Cluster, Broker string
	Clock           clock.Clock
	Logger          *slog.Logger
}

// nextVersion counts a change.
func (s *Settings) nextVersion(v transport.DataVersion) transport.DataVersion {
	return transport.DataVersion{Counter: v.Counter + 1, Timestamp: clock.Millis(s.Clock.Now())}
}

// load reads a file of the table with its backup, and says in the log when the backup had to serve.
func (s *Settings) load(path string, decode func([]byte) error) error {
	source, err := vfs.ReadFileOrBak(s.FS, path, decode)
	if err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	if source == vfs.SourceBackup {
		s.Logger.Warn("file is missing or damaged, its backup is used; the last change before may be lost", "file", path)
	}
	return nil
}

// write replaces a file of the table.
func (s *Settings) write(path string, data []byte, err error) error {
	if err != nil {
		return &saveError{path, err}
	}
	if len(data) > fastjson.MaxSize {
		return &saveError{path, fmt.Errorf("it would have %d bytes and couldn't be read back, the limit is %d", len(data), fastjson.MaxSize)}
	}
	if err := vfs.MkdirAllSync(s.FS, s.Dir); err != nil {
		return &saveError{path, err}
	}
	if err := vfs.WriteFileAtomic(s.FS, path, data); err != nil {
		return &saveError{path, err}
	}
	return nil
}

// saveError says that a change didn't happen because its file couldn't be written.
type saveError struct {
	path string
	err  error
}

func (e *saveError) Unwrap() error { return e.err }

func (e *saveError) Error() string {
	hint := "see the broker's log and disk"
	if errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT) {
		hint = "free space on the disk of " + e.path
	}
	return fmt.Sprintf("save %s: %v; %s, then try again", e.path, e.err, hint)
}

// answer turns err into a *message.Error: one that it is already stays, any other gets code and the beginning of a
// sentence that says what didn't happen.
func answer(err error, code message.Code, what string) error {
	var known *message.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &message.Error{Code: code, Remark: what + ": " + err.Error()}
}
