package expr

import (
	"errors"

	"github.com/expr-lang/expr/ast"

	"github.com/weirmq/weir/core/filter"
)

// JSON values are compared with literals where they lie in the body, without being made values of the language.

var errJSONType = errors.New("the JSON field has another type than the comparison needs")

// jsonPlace returns the number of the path of json("a").
func (c *compilation) jsonPlace(n ast.Node) (i int, ok bool) {
	function, name, ok := accessor(n)
	if !ok || function != accessJSON {
		return 0, false
	}
	return c.path(name), true
}

// jsonPresence says whether there is a value at a path; null is none.
func jsonPresence(e *eval, i int) outcome {
	raw, err := e.jsonRaw(i)
	switch {
	case err != nil:
		return e.fail(err)
	case len(raw) == 0 || raw[0] == 'n':
		return isUnknown
	}
	return isTrue
}

// jsonCondition is a JSON value as true or false. It may be nil.
func jsonCondition(i int) part {
	return func(e *eval) outcome {
		if o := jsonPresence(e, i); o != isTrue {
			return o
		}
		switch raw, _ := e.jsonRaw(i); raw[0] {
		case 't':
			return isTrue
		case 'f':
			return isFalse
		}
		return e.fail(errResult)
	}
}

// compareJSON compares the value at a path with a literal.
func compareJSON(i int, operator string, with any) part {
	equality, missing := operator == "==" || operator == "!=", missingOutcome(operator)
	var holds func(e *eval, raw []byte) (bool, outcome)
	switch with := with.(type) {
	case string:
		holds = jsonText(operator, with)
	case int:
		holds = jsonWhole(operator, with)
	case float64:
		relate := relation[float64](operator)
		holds = func(_ *eval, raw []byte) (bool, outcome) {
			if !isJSONNumber(raw) {
				return false, isUnknown
			}
			return relate(jsonFloat(raw), with), isTrue
		}
	case bool:
		if !equality {
			return nil
		}
		holds = func(_ *eval, raw []byte) (bool, outcome) {
			if raw[0] != 't' && raw[0] != 'f' {
				return false, isUnknown
			}
			return (raw[0] == 't') == with == (operator == "=="), isTrue
		}
	}
	return func(e *eval) outcome {
		switch o := jsonPresence(e, i); o {
		case isUnknown:
			return missing
		case isRaise:
			return o
		}
		raw, _ := e.jsonRaw(i)
		is, o := holds(e, raw)
		switch {
		case o == isTrue:
			return outcomeOf(is)
		case o == isRaise:
			return o
		case equality: // values of two types differ
			return outcomeOf(operator == "!=")
		}
		return e.fail(errJSONType)
	}
}

// jsonText compares a text; isUnknown stands for a value of another type.
func jsonText(operator, with string) func(*eval, []byte) (bool, outcome) {
	relate := relation[string](operator)
	return func(e *eval, raw []byte) (bool, outcome) {
		if raw[0] != '"' {
			return false, isUnknown
		}
		if plainText(raw) {
			return relate(string(raw[1:len(raw)-1]), with), isTrue
		}
		text, err := unquote(raw)
		if err != nil {
			return false, e.fail(err)
		}
		return relate(text, with), isTrue
	}
}

// jsonWhole compares with a whole number, exactly where the JSON number is whole, too.
func jsonWhole(operator string, with int) func(*eval, []byte) (bool, outcome) {
	ints, floats := relation[int](operator), relation[float64](operator)
	return func(_ *eval, raw []byte) (bool, outcome) {
		if !isJSONNumber(raw) {
			return false, isUnknown
		}
		if n, ok := filter.ParseInt64(raw); ok {
			return ints(int(n), with), isTrue
		}
		return floats(jsonFloat(raw), float64(with)), isTrue
	}
}

func isJSONNumber(raw []byte) bool { return raw[0] == '-' || raw[0]-'0' <= 9 }

// jsonFloat reads a JSON number, which is sound.
func jsonFloat(raw []byte) float64 {
	f, _ := filter.ParseDouble(raw)
	return f
}
