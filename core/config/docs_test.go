package config_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocs compares docs.json with the comments in the source: every field with a yaml tag, here and in the plugins.
func TestDocs(t *testing.T) {
	found := map[string]string{}
	for _, glob := range []string{"../*", "../../plugins/*/*"} {
		dirs, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") {
					collectDocs(t, file, found)
				}
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("no configuration struct found")
	}
	b, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "docs.json", string(b)+"\n")
}

// collectDocs adds the documented fields of the structs in one file.
func collectDocs(t *testing.T, file string, found map[string]string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg := "github.com/weirmq/weir/" + strings.TrimPrefix(path.Clean("core/config/"+filepath.ToSlash(filepath.Dir(file))), "/")
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		keys := map[string]string{}
		for _, field := range s.Fields.List {
			if key := yamlKey(field); key != "" && len(field.Names) == 1 {
				keys[field.Names[0].Name] = key
			}
		}
		for _, field := range s.Fields.List {
			if yamlKey(field) == "" || len(field.Names) != 1 || field.Doc == nil || hasDocTag(field) {
				continue
			}
			found[pkg+"."+spec.Name.Name+"."+field.Names[0].Name] = operatorText(field.Doc.Text(), keys)
		}
		return true
	})
}

func tagOf(f *ast.Field) reflect.StructTag {
	if f.Tag == nil {
		return ""
	}
	s, _ := strconv.Unquote(f.Tag.Value)
	return reflect.StructTag(s)
}

func yamlKey(f *ast.Field) string {
	key, _, _ := strings.Cut(tagOf(f).Get("yaml"), ",")
	if key == "-" {
		return ""
	}
	return key
}

func hasDocTag(f *ast.Field) bool { return tagOf(f).Get("doc") != "" }

var word = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// operatorText makes one line of a comment and writes the keys in place of the names of Go fields.
func operatorText(doc string, keys map[string]string) string {
	text := strings.Join(strings.Fields(doc), " ")
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if key, ok := keys[w]; ok {
			return key
		}
		return w
	})
}
