package sqltree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// Draw draws a condition as a tree for people, a line for each node.
func Draw(x Cond) []string {
	var lines []string
	draw(x, "", "", &lines)
	return lines
}

func draw(x Cond, first, rest string, lines *[]string) {
	text, below := describe(x)
	*lines = append(*lines, first+text)
	for i, c := range below {
		if i == len(below)-1 {
			draw(c, rest+"└─ ", rest+"   ", lines)
		} else {
			draw(c, rest+"├─ ", rest+"│  ", lines)
		}
	}
}

// describe names a node and lists those below it.
func describe(x Cond) (text string, below []Cond) {
	switch x := x.(type) {
	case *Const:
		return "always " + x.Outcome.String(), nil
	case *Map:
		return describeMap(x), []Cond{x.X}
	case *And:
		return "all of", x.List
	case *Or:
		return "any of", x.List
	case *If:
		return fmt.Sprintf("if there is %s, the first, else the second", x.Property), []Cond{x.Present, x.Missing}
	case *Equal:
		return "both the same", []Cond{x.Left, x.Right}
	case *Compare:
		return fmt.Sprintf("%s %s %s", x.Property, x.Op, x.Number.written()), nil
	case *EqualText:
		return fmt.Sprintf("%s = %s", x.Property, quote(x.Text)), nil
	case *EqualProperties:
		return fmt.Sprintf("%s = %s, as texts", x.Left, x.Right), nil
	case *CompareProperties:
		return fmt.Sprintf("%s %s %s, as doubles", x.Left, x.Op, x.Right), nil
	case *In:
		return fmt.Sprintf("%s in %s", x.Property, quoteAll(x.Members)), nil
	case *IsTrue:
		return x.Property + " spells true", nil
	case *Search:
		return fmt.Sprintf("%s %s %s", x.Property, x.Where, quote(x.Text)), nil
	case *CallTest:
		return x.Call.written(), nil
	case *CallValue:
		return x.Call.written() + " has a value", nil
	case *CallCompare:
		return fmt.Sprintf("%s %s %s", x.Left.written(x.Kind), x.Op, x.Right.written(x.Kind)), nil
	}
	return Canonical(x), nil
}

// Line writes a condition for people in one line.
func Line(x Cond) string {
	text, below := describe(x)
	var parts []string
	for _, c := range below {
		part := Line(c)
		switch c.(type) {
		case *And, *Or, *Equal, *If:
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	switch x := x.(type) {
	case *And:
		return strings.Join(parts, " and ")
	case *Or:
		return strings.Join(parts, " or ")
	case *Equal:
		return strings.Join(parts, " the same as ")
	case *If:
		return fmt.Sprintf("if there is %s then %s else %s", x.Property, parts[0], parts[1])
	case *Map:
		if text == "not" {
			return "not (" + Line(x.X) + ")"
		}
		return parts[0] + ": " + text
	}
	return text
}

func describeMap(x *Map) string {
	switch {
	case x.True == False && x.False == True && x.Unknown == Unknown:
		return "not"
	case x.True == False && x.False == False && x.Unknown == True:
		return "is unknown"
	case x.True == True && x.False == True && x.Unknown == False:
		return "is known"
	}
	return fmt.Sprintf("true becomes %s, false %s, unknown %s", x.True, x.False, x.Unknown)
}

const shownMax = 10

func quoteAll(list []string) string {
	var quoted []string
	for _, m := range list[:min(len(list), shownMax)] {
		quoted = append(quoted, quote(m))
	}
	text := strings.Join(quoted, ", ")
	if len(list) > shownMax {
		text += fmt.Sprintf(" and %d more", len(list)-shownMax)
	}
	return text
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r < ' ' {
			return '·'
		}
		return r
	}, s), "'", "''") + "'"
}

// written is the number with the type in which a property beside it is read.
func (n Number) written() string {
	if n.Kind != filter.Double {
		return strconv.FormatInt(n.Ordered, 10) + " (" + kindNames[n.Kind] + ")"
	}
	return strconv.FormatFloat(filter.UnorderDouble(n.Ordered), 'g', -1, 64) + " (double)"
}

func (c *Call) written() string {
	name := "wasm." + c.Function.Name()
	if strings.HasSuffix(name, ")") { // of a whole module, which it tells
		return name
	}
	var args []string
	for i := range c.Args {
		switch a := &c.Args[i]; {
		case a.Property != "":
			args = append(args, a.Property)
		case a.Call != nil:
			args = append(args, a.Call.written())
		case a.Kind == filter.TextValue:
			args = append(args, quote(a.Text))
		case a.Kind == filter.DoubleValue:
			args = append(args, strconv.FormatFloat(floatOf(a.Number), 'g', -1, 64))
		case a.Kind == filter.BooleanValue:
			args = append(args, strconv.FormatBool(a.Number == 1))
		default:
			args = append(args, strconv.FormatInt(a.Number, 10))
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (v *Value) written(kind filter.Kind) string {
	switch {
	case v.Call != nil:
		return v.Call.written()
	case v.Property != "":
		return v.Property
	}
	return Number{kind, v.Ordered}.written()
}
