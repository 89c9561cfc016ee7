package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on the file, so that a mistaken or hostile one costs little: aliases of aliases multiply.
const (
	maxFileSize = 1 << 20
	maxNodes    = 100_000
	maxDepth    = 64
)

// reader turns YAML into nodes.
type reader struct {
	source  string
	lines   []string
	expand  expander
	anchors map[string]ast.Node
	nodes   int
	errs    Errors
}

// parse reads src as YAML. The root is a mapping, empty when there is nothing in src or it can't be read.
func parse(source string, src []byte, exp expander) (*node, []string, Errors) {
	r := &reader{source: source, lines: strings.Split(string(src), "\n"), expand: exp, anchors: map[string]ast.Node{}}
	empty := &node{kind: mapping, at: place{source: source}}
	if len(src) > maxFileSize {
		r.errs = append(r.errs, &Error{Source: source, Text: fmt.Sprintf("the file has %d bytes, more than the %d that are read", len(src), maxFileSize)})
		return empty, nil, r.errs
	}
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return empty, r.lines, Errors{r.syntax(err)}
	}
	root := empty
	seen := 0
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if seen++; seen > 1 {
			r.fail(d.Body, "", "a second document begins here", "put everything in one")
			break
		}
		n := r.node(d.Body, "", 0)
		switch n.kind {
		case mapping:
			root = n
		case null:
		default:
			r.fail(d.Body, "", "the file holds "+n.kind.String()+", not sections", "write for example data_dir: ./data")
		}
	}
	if r.nodes > maxNodes {
		return empty, r.lines, r.errs // one complaint is enough
	}
	return root, r.lines, r.errs
}

// syntax turns an error of the YAML library into one of ours.
func (r *reader) syntax(err error) *Error {
	e := &Error{Source: r.source, Text: "not YAML: " + err.Error()}
	var s *yaml.SyntaxError
	if errors.As(err, &s) {
		e.Text = "not YAML: " + s.Message
		if s.Token != nil && s.Token.Position != nil {
			e.Line, e.Column = s.Token.Position.Line, s.Token.Position.Column
			e.Excerpt = lineOf(r.lines, e.Line)
		}
		if e.Excerpt != "" && strings.ContainsRune(e.Excerpt, '\t') {
			e.Hint = "YAML indents with blanks, not tabs"
		}
	}
	return e
}

func lineOf(lines []string, line int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimRight(lines[line-1], "\r")
}

func (r *reader) place(t *token.Token) place {
	p := place{source: r.source}
	if t != nil && t.Position != nil {
		p.line, p.column = t.Position.Line, t.Position.Column
	}
	return p
}

func (r *reader) fail(n ast.Node, path, text, hint string) {
	p := r.start(n)
	r.errs = append(r.errs, &Error{Source: p.source, Line: p.line, Column: p.column, Path: path, Text: text, Hint: hint,
		Excerpt: lineOf(r.lines, p.line)})
}

// start returns where n begins; a mapping's own token is the colon of its first key.
func (r *reader) start(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return r.place(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return r.place(n.Key.GetToken())
	}
	return r.place(n.GetToken())
}

// node converts one YAML node. It always returns one.
func (r *reader) node(n ast.Node, path string, depth int) *node {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		if r.nodes <= maxNodes+1 {
			r.nodes = maxNodes + 1
			r.fail(n, path, "the file is nested too deeply or its aliases multiply", "write it out plainly")
		}
		return &node{kind: null, at: r.place(n.GetToken())}
	}
	out := &node{at: r.start(n)}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		r.mapping(out, n.Values, path, depth)
	case *ast.MappingValueNode:
		r.mapping(out, []*ast.MappingValueNode{n}, path, depth)
	case *ast.SequenceNode:
		out.kind = list
		for i, item := range n.Values {
			out.items = append(out.items, r.node(item, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case *ast.AnchorNode:
		r.anchors[n.Name.GetToken().Value] = n.Value
		return r.node(n.Value, path, depth+1)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := r.anchors[name]
		if !ok {
			r.fail(n, path, "no anchor &"+name+" before this alias", "")
			out.bad = true
			return out
		}
		return r.node(target, path, depth+1)
	case *ast.TagNode:
		return r.node(n.Value, path, depth+1)
	case *ast.LiteralNode:
		out.kind, out.typ, out.text = scalar, text, n.Value.Value
		r.resolve(out, n, path)
	case *ast.StringNode:
		out.kind, out.typ, out.text = scalar, text, n.Value
		r.resolve(out, n, path)
	case *ast.BoolNode:
		out.kind, out.typ, out.text = scalar, truth, n.GetToken().Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.typ, out.text = scalar, number, n.GetToken().Value
	default:
		r.fail(n, path, "this kind of YAML isn't understood here", "")
	}
	return out
}

// mapping fills out with the keys of values.
func (r *reader) mapping(out *node, values []*ast.MappingValueNode, path string, depth int) {
	out.kind = mapping
	for _, v := range values {
		if v.Key.IsMergeKey() {
			r.fail(v, path, "merge keys (<<) aren't understood here", "write the keys out, or use an alias for a whole section")
			continue
		}
		key := v.Key.GetToken().Value
		if s, ok := v.Key.(*ast.StringNode); ok {
			key = s.Value
		}
		at := r.place(v.Key.GetToken())
		value := r.node(v.Value, join(path, key), depth+1)
		if first := out.find(key); first != nil {
			r.fail(v.Key, join(path, key), fmt.Sprintf("given twice; line %d has it already", first.at.line), "keep one")
			continue
		}
		out.entries = append(out.entries, entry{key: key, at: at, value: value})
	}
}

// resolve replaces the references in a string.
func (r *reader) resolve(out *node, n ast.Node, path string) {
	got, replaced, err := r.expand.string(out.text)
	if err != nil {
		r.fail(n, path, err.Error(), "")
		out.bad = true
		return
	}
	if replaced {
		out.raw, out.typ = out.text, loose
	}
	out.text = got
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
