package wire

import "strings"

// Language is the programming language that a peer says it is written in. The numbers are protocol.
type Language uint8

// The languages that RocketMQ knows.
const (
	LanguageJava   Language = 0
	LanguageCPP    Language = 1
	LanguageDotNet Language = 2
	LanguagePython Language = 3
	LanguageDelphi Language = 4
	LanguageErlang Language = 5
	LanguageRuby   Language = 6
	LanguageOther  Language = 7 // also stands for everything unknown
	LanguageHTTP   Language = 8
	LanguageGo     Language = 9
	LanguagePHP    Language = 10
	LanguageOMS    Language = 11
	LanguageRust   Language = 12
)

// Version is what we say we are: the ordinal of V4_9_7. Clients keep SQL92 off below 232.
const Version = 407

func languageName(l Language) string {
	switch l {
	case LanguageJava:
		return "JAVA"
	case LanguageCPP:
		return "CPP"
	case LanguageDotNet:
		return "DOTNET"
	case LanguagePython:
		return "PYTHON"
	case LanguageDelphi:
		return "DELPHI"
	case LanguageErlang:
		return "ERLANG"
	case LanguageRuby:
		return "RUBY"
	case LanguageHTTP:
		return "HTTP"
	case LanguageGo:
		return "GO"
	case LanguagePHP:
		return "PHP"
	case LanguageOMS:
		return "OMS"
	case LanguageRust:
		return "RUST"
	}
	return "OTHER"
}

// String returns the name that travels in JSON; OTHER for an unknown one.
func (l Language) String() string { return languageName(l) }

// ParseLanguage returns the language called name, in any letter case, or LanguageOther.
func ParseLanguage(name string) Language {
	for l := LanguageJava; l <= LanguageRust; l++ {
		if strings.EqualFold(languageName(l), name) {
			return l
		}
	}
	return LanguageOther
}

// languageOf is ParseLanguage for the common case, without conversion.
func languageOf(name []byte) Language {
	switch string(name) {
	case "JAVA":
		return LanguageJava
	case "GO":
		return LanguageGo
	case "CPP":
		return LanguageCPP
	}
	return ParseLanguage(string(name))
}

func knownLanguage(n int32) Language {
	if n < 0 || n > int32(LanguageRust) {
		return LanguageOther
	}
	return Language(n)
}
