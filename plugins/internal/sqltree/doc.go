// Package sqltree is the front end of SQL92 filters: text becomes tokens, and tokens become a typed tree that back ends
// evaluate. All back ends share it, so that they can only differ in how they compute and never in what.
//
//	text -> lexer -> parser, with static kinds -> constructors that check, specialise and fold -> Cond
//
// # Outcomes
//
// A condition is true, false, unknown or raises. Unknown is SQL's NULL and takes part in three-valued logic; a raise ends
// the evaluation of the whole text. Conditions are evaluated from left to right, and only as far as needed, so a raise on
// the right may go unseen. A back end may compute in any order that nobody can tell from this one.
//
// # Dialects
//
// RocketMQ is what RocketMQ 4.9.7 does, to the bit, with all its surprises: the text behind the first token that can't
// continue is dropped, NOT binds tighter than =, a literal's type decides how a property is read, and a bare property is
// never true. RocketMQ5 adds CONTAINS, STARTSWITH and ENDSWITH. Strict is a language of our own that looks the same and
// means what it seems to: see strict.go.
//
// # The tree
//
// There are few kinds of nodes, because the odd cases of RocketMQ's language (a comparison with a condition, a missing
// right side, a negated property) are all made of a leaf and of Map, If and Equal, which rename outcomes, ask for presence,
// and compare two conditions. Whatever doesn't depend on the message is folded. Two texts that differ only in writing
// have one tree, and Canonical gives its text.
package sqltree
