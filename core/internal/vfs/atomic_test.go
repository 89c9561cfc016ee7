package vfs_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

// load reads a file through ReadFileOrBak; a content that begins with "bad" is refused.
func load(fsys vfs.FS, path string) (content string, source vfs.Source, err error) {
	source, err = vfs.ReadFileOrBak(fsys, path, func(data []byte) error {
		if strings.HasPrefix(string(data), "bad") {
			return errors.New("unexpected 'b'")
		}
		content = string(data)
		return nil
	})
	return content, source, err
}

func TestWriteFileAtomic(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		path := filepath.Join(dir, "topics.json")
		for i, content := range []string{"one", "two", "three"} {
			must(t, vfs.WriteFileAtomic(fsys, path, []byte(content)))
			if got := get(t, fsys, path); got != content {
				t.Fatalf("holds %q, want %q", got, content)
			}
			if i == 0 {
				continue
			}
			if got, want := get(t, fsys, path+".bak"), []string{"one", "two"}[i-1]; got != want {
				t.Fatalf("backup holds %q, want %q", got, want)
			}
		}
		entries, err := fsys.ReadDir(dir)
		must(t, err)
		if len(entries) != 2 {
			t.Fatalf("left behind: %+v", entries)
		}
	})
}

// TestWriteFileAtomicSurvivesAnyCrash cuts the power before every single operation of a row of saves, several times with
// different luck, and expects the last content that was promised or the one being saved.
func TestWriteFileAtomicSurvivesAnyCrash(t *testing.T) {
	mem := vfs.NewMem(nil)
	promised, saving := "", ""
	crashes := uint64(0)
	check := func(op errorfs.Op) error {
		for range 8 {
			crashes++
			clone := mem.CrashClone(vfs.RandomCrash(crashes))
			got, _, err := load(clone, "/f")
			if err != nil || (got != promised && got != saving) {
				t.Fatalf("crash %d before %s %s: loaded %q, %v; promised %q, saving %q\n%s", crashes, op.Kind, op.Path, got, err, promised, saving, clone)
			}
		}
		return nil
	}
	fsys := errorfs.Wrap(mem, check)
	for _, saving = range []string{"first content", "second content, longer", "third"} {
		must(t, vfs.WriteFileAtomic(fsys, "/f", []byte(saving)))
		promised = saving
		if got, _, err := load(mem.CrashClone(nothing), "/f"); err != nil || got != promised {
			t.Fatalf("after saving %q a power cut left %q, %v", promised, got, err)
		}
	}
	if crashes < 100 {
		t.Fatalf("only %d crashes", crashes)
	}
}

// TestDamagedFileKeepsItsBackup saves over a damaged file that was loaded from its backup: at every moment one of the
// two is good.
func TestDamagedFileKeepsItsBackup(t *testing.T) {
	mem := vfs.NewMem(nil)
	for path, content := range map[string]string{"/f": "bad old", "/f.bak": "good old"} {
		f, err := mem.Open(path, vfs.Create)
		must(t, err)
		_, err = f.WriteAt([]byte(content), 0)
		must(t, err)
		must(t, f.Sync())
	}
	must(t, mem.SyncDir("/"))
	seed := uint64(0)
	fsys := errorfs.Wrap(mem, func(op errorfs.Op) error {
		for range 8 {
			seed++
			if got, _, err := load(mem.CrashClone(vfs.RandomCrash(seed)), "/f"); err != nil || !strings.HasPrefix(got, "good") {
				t.Fatalf("crash %d before %s %s: loaded %q, %v", seed, op.Kind, op.Path, got, err)
			}
		}
		return nil
	})
	must(t, vfs.WriteFileAtomic(fsys, "/f", []byte("good new")))
}

func TestWriteFileAtomicFailureKeepsTheOldContent(t *testing.T) {
	for _, kind := range []errorfs.Kind{errorfs.Create, errorfs.Write, errorfs.Sync, errorfs.Rename, errorfs.Close} {
		t.Run(kind.String(), func(t *testing.T) {
			fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
			must(t, vfs.WriteFileAtomic(fsys, "/f", []byte("old")))
			fsys.Set(errorfs.Nth(1, errorfs.OnKind(kind, syscall.ENOSPC)))
			if err := vfs.WriteFileAtomic(fsys, "/f", []byte("new")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("error %v", err)
			}
			if got := get(t, fsys, "/f"); got != "old" {
				t.Fatalf("holds %q", got)
			}
			must(t, vfs.WriteFileAtomic(fsys, "/f", []byte("new")))
			if got := get(t, fsys, "/f"); got != "new" {
				t.Fatalf("holds %q after the second try", got)
			}
		})
	}
}

func TestReadFileOrBak(t *testing.T) {
	const missing = "-"
	cases := []struct {
		name, file, bak string
		content         string
		source          vfs.Source
		err             string // part of it
	}{
		{"both missing", missing, missing, "", vfs.SourceNone, ""},
		{"both empty", "", "", "", vfs.SourceNone, ""},
		{"file", "f", missing, "f", vfs.SourceFile, ""},
		{"file and backup", "f", "b", "f", vfs.SourceFile, ""},
		{"file and bad backup", "f", "bad", "f", vfs.SourceFile, ""},
		{"file missing", missing, "b", "b", vfs.SourceBackup, ""},
		{"file empty", "", "b", "b", vfs.SourceBackup, ""},
		{"file bad", "bad", "b", "b", vfs.SourceBackup, ""},
		{"file bad, no backup", "bad", missing, "", vfs.SourceNone,
			"decode /f: unexpected 'b'; there is no backup: repair the file, or remove it to start with defaults"},
		{"file empty, bad backup", "", "bad", "", vfs.SourceNone, "/f has no content and its backup cannot be used: decode /f.bak: unexpected 'b'"},
		{"both bad", "bad", "bad", "", vfs.SourceNone, "neither the file nor its backup can be used: decode /f: unexpected 'b'\ndecode /f.bak"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := vfs.NewMem(nil)
			for path, content := range map[string]string{"/f": c.file, "/f.bak": c.bak} {
				if content != missing {
					put(t, m, path, content)
				}
			}
			content, source, err := load(m, "/f")
			if content != c.content || source != c.source {
				t.Errorf("loaded %q from %d, want %q from %d", content, source, c.content, c.source)
			}
			if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
