package pending

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// Place is a place in the queue of the records that wait.
type Place struct {
	Offset message.Offset `json:"offset"`
	// Position is one in the commit log that is behind the record before the place, and not behind the next one.
	Position message.Position `json:"position"`
}

// Progress is how far the owner of a set is.
type Progress struct {
	// Looked is where the queue has to be read on: the records before it were added.
	Looked Place `json:"looked"`
	// Done is the mark before which all records of the queue before Looked are dealt with.
	Done Mark `json:"done"`
	// Rolled is where the records that still wait begin: those before it were stored again.
	Rolled Place `json:"rolled"`
}

// Passed says whether a record of the queue at offset was dealt with. What recalls messages of the time at which the owner stopped is needed again.
func (p *Progress) Passed(offset message.Offset, m Mark) bool {
	if m.Kind == Recall && m.Due == p.Done.Due {
		return offset < p.Rolled.Offset
	}
	return offset < p.Rolled.Offset || offset < p.Looked.Offset && m.Compare(p.Done) < 0
}

// stateVersion is that of state.json. Another one is refused.
const stateVersion = 1

const (
	stateFile = "state.json"
	runSuffix = ".run"
)

// state is the content of state.json. It must not change without another version.
type state struct {
	Version int `json:"version"`
	Progress
	// Covered is where the queue has to be read on when memory is lost: what is before it is in the runs, or dealt with.
	Covered message.Offset `json:"covered"`
	Runs    []run          `json:"runs"`
}

func readState(fs vfs.FS, dir string) (s state, found bool, err error) {
	source, err := vfs.ReadFileOrBak(fs, filepath.Join(dir, stateFile), func(data []byte) error {
		s = state{}
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if s.Version != stateVersion {
			return fmt.Errorf("version %d is not known, only %d is", s.Version, stateVersion)
		}
		return nil
	})
	if err != nil {
		return state{}, false, fmt.Errorf("load the progress of timed messages: %w; remove the file to deliver again what lies in %s", err, message.TopicTimer)
	}
	return s, source != vfs.SourceNone, nil
}

func (s *state) write(fs vfs.FS, dir string) error {
	data, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(fs, filepath.Join(dir, stateFile), append(data, '\n'))
}

// sweep removes the runs that s doesn't name, and returns a number that is above those of all runs that were there.
func (s *state) sweep(fs vfs.FS, dir string) (next uint64, err error) {
	files, err := fs.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	named := map[string]bool{}
	for _, r := range s.Runs {
		named[r.Name] = true
	}
	for _, f := range files {
		base, ok := strings.CutSuffix(f.Name, runSuffix)
		if !ok {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(base, "%x", &n); err == nil {
			next = max(next, n+1)
		}
		if named[f.Name] {
			continue
		}
		if err := fs.Remove(filepath.Join(dir, f.Name)); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// ReadProgress returns the progress that is saved in a directory; the zero one when there is none.
func ReadProgress(fs vfs.FS, dir string) (Progress, error) {
	s, _, err := readState(fs, dir)
	return s.Progress, err
}
