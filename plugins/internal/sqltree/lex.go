package sqltree

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tokenKind is a kind of token. Operators and parentheses are their own kinds.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokIdent
	tokInteger
	tokFloat
	tokString
	tokNot
	tokAnd
	tokOr
	tokBetween
	tokIn
	tokTrue
	tokFalse
	tokNull
	tokIs
	tokContains
	tokStartsWith
	tokEndsWith
	tokLike
	tokEscape
	tokEQ
	tokNE
	tokLT
	tokLE
	tokGT
	tokGE
	tokOpen
	tokClose
	tokComma
	tokPlus
	tokMinus
	tokStar
	tokSlash
	tokPercent
	tokCall // wasm.name or wasm.name.name
)

// callPrefix begins the name of a function.
const callPrefix = "wasm."

// token is a piece of the text. Its text is as written.
type token struct {
	kind tokenKind
	text string
	at   int
}

var reserved = map[string]tokenKind{
	"not": tokNot, "and": tokAnd, "or": tokOr, "between": tokBetween, "in": tokIn, "true": tokTrue, "false": tokFalse,
	"null": tokNull, "is": tokIs,
}

var reserved5 = map[string]tokenKind{"contains": tokContains, "startswith": tokStartsWith, "endswith": tokEndsWith}

var reservedStrict = map[string]tokenKind{"like": tokLike, "escape": tokEscape}

// lexer cuts a text into tokens, each when it is asked for: what is never asked for may be anything.
type lexer struct {
	text    string
	pos     int
	dialect Dialect
}

// lexError is text that is no token.
type lexError struct {
	at  int
	why string
}

func (e *lexError) Error() string { return fmt.Sprintf("at character %d: %s", e.at+1, e.why) }

// next returns the next token.
func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	rest := l.text[l.pos:]
	if rest == "" {
		return token{tokEnd, "", l.pos}, nil
	}
	c := rest[0]
	switch {
	case isLetter(c):
		return l.word(rest), nil
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		kind, n := scanNumber(rest)
		return l.take(kind, n), nil
	case c == '\'':
		return l.quoted(rest)
	}
	if kind, n := l.operator(rest); n > 0 {
		return l.take(kind, n), nil
	}
	r, n := utf8.DecodeRuneInString(rest)
	return token{}, &lexError{l.pos, fmt.Sprintf("%q%s", string(r), strange(rest[:n]))}
}

// strange explains a character that begins no token.
func strange(c string) string {
	switch c {
	case "\"", "`":
		return " quotes nothing here: names are written bare, texts in single quotes"
	case "!", "&", "|":
		return " is no operator: use <> for unequal, AND and OR"
	case ".":
		return " can't be a part of a name"
	}
	return " can't stand in an expression"
}

func (l *lexer) take(kind tokenKind, n int) token {
	t := token{kind, l.text[l.pos : l.pos+n], l.pos}
	l.pos += n
	return t
}

func (l *lexer) word(rest string) token {
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
		n++
	}
	if rest[:n] == "wasm" && n+1 < len(rest) && rest[n] == '.' && isLetter(rest[n+1]) {
		return l.callName(rest)
	}
	t := l.take(tokIdent, n)
	if len(t.text) > len("startswith") {
		return t
	}
	word := strings.ToLower(t.text)
	kind, ok := reserved[word]
	if !ok && l.dialect != RocketMQ {
		kind, ok = reserved5[word]
	}
	if !ok && l.dialect == Strict {
		kind, ok = reservedStrict[word]
	}
	if ok {
		t.kind = kind
	}
	return t
}

// callName takes wasm. and one or two names.
func (l *lexer) callName(rest string) token {
	n := len(callPrefix)
	for names := 0; names < 2; names++ {
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		if names == 1 || n+1 >= len(rest) || rest[n] != '.' || !isLetter(rest[n+1]) {
			break
		}
		n++
	}
	return l.take(tokCall, n)
}

// quoted reads a text in quotes.
func (l *lexer) quoted(rest string) (token, error) {
	for i := 1; i < len(rest); i++ {
		if rest[i] != '\'' {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == '\'' {
			i++
			continue
		}
		return l.take(tokString, i+1), nil
	}
	return token{}, &lexError{l.pos, "the text in quotes isn't closed"}
}

// unquote returns what a text in quotes says.
func unquote(s string) string { return strings.ReplaceAll(s[1:len(s)-1], "''", "'") }

func (l *lexer) operator(rest string) (kind tokenKind, n int) {
	two := func(second byte) bool { return len(rest) > 1 && rest[1] == second }
	switch rest[0] {
	case '=':
		return tokEQ, 1
	case '<':
		if two('>') {
			return tokNE, 2
		}
		if two('=') {
			return tokLE, 2
		}
		return tokLT, 1
	case '>':
		if two('=') {
			return tokGE, 2
		}
		return tokGT, 1
	case '(':
		return tokOpen, 1
	case ')':
		return tokClose, 1
	case ',':
		return tokComma, 1
	case '+':
		return tokPlus, 1
	case '-':
		return tokMinus, 1
	}
	if l.dialect != Strict {
		return 0, 0
	}
	switch rest[0] {
	case '!':
		if two('=') {
			return tokNE, 2
		}
	case '*':
		return tokStar, 1
	case '/':
		return tokSlash, 1
	case '%':
		return tokPercent, 1
	}
	return 0, 0
}

// skip passes over white space and comments. A line comment needs its line end: without one it is two minus signs.
func (l *lexer) skip() error {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case strings.IndexByte(" \t\n\r\f", rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\n\r")
			if end < 0 && l.dialect != Strict {
				return nil
			}
			if end < 0 {
				end = len(rest) - 1
			}
			l.pos += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return &lexError{l.pos, "the comment isn't closed"}
			}
			l.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

// scanNumber returns the kind and length of the number that rest begins with: the longest that is one.
func scanNumber(rest string) (tokenKind, int) {
	digits := countDigits(rest)
	kind, n := tokFloat, digits
	if n < len(rest) && rest[n] == '.' {
		n++
		n += countDigits(rest[n:])
	} else if exponent(rest[n:]) == 0 {
		kind = tokInteger
		if rest[0] == '0' {
			return kind, 1
		}
		if n < len(rest) && rest[n]|0x20 == 'l' {
			n++
		}
		return kind, n
	}
	return kind, n + exponent(rest[n:])
}

// exponent returns the length of the exponent that s begins with.
func exponent(s string) int {
	if s == "" || s[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if len(s) > 1 && (s[1] == '+' || s[1] == '-') {
		n++
	}
	d := countDigits(s[n:])
	if d == 0 {
		return 0
	}
	return n + d
}

func countDigits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 || c == '_' || c == '$' }
