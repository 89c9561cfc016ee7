package config

import (
	"regexp"
	"slices"
	"strings"
)

// envPrefix begins the variables that are laid over the file.
const envPrefix = "WEIR_"

// toolVariables are read by commands, tests and scripts, and are no settings. docs/configuration.md lists them.
var toolVariables = regexp.MustCompile(`^WEIR_(CONFIG|JAVA_DIR|REQUIRE_ALL|BIN|SUT|KILLS|NAMESERVER_ADDRS|TLS(_(CA|CERT|KEY|SERVER_NAME|INSECURE))?|BENCH(_.*)?|TEST(_.*)?)$`)

// orchestrator matches what Kubernetes and Docker put into the environment beside a service named weir.
var orchestrator = regexp.MustCompile(`^WEIR_(SERVICE_(HOST|PORT)(_.*)?|PORT(_.*)?|NAME|ENV_.*)$`)

// overlay lays the WEIR_ variables of env over root. A variable that names no section is ignored with a warning.
func overlay(root *node, env []string, top []topSection) (warnings []string, errs Errors) {
	vars := slices.Clone(env)
	slices.Sort(vars)
	for _, v := range vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) || toolVariables.MatchString(name) || orchestrator.MatchString(name) {
			continue
		}
		path := strings.Split(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "__")
		at := place{source: "environment " + name}
		section, known := findTop(top, path[0])
		switch {
		case !known && len(path) == 1:
			if hint := misspelled(path[0], top); hint != "" {
				errs = append(errs, &Error{Source: at.source, Text: "names no setting", Hint: "did you mean " + hint + "?"})
				continue
			}
			warnings = append(warnings, name+" is ignored: it names no setting; settings are "+envPrefix+"SECTION__KEY")
		case !known:
			if best := closest(path[0], topNames(top)); best != "" {
				hint := "did you mean " + envPrefix + strings.ToUpper(best) + "__" + strings.ToUpper(strings.Join(path[1:], "__")) + "?"
				errs = append(errs, &Error{Source: at.source, Text: "unknown section " + quote(path[0]), Hint: hint})
				continue
			}
			warnings = append(warnings, name+" is ignored: there is no section "+quote(path[0]))
		case slices.Contains(path, ""):
			errs = append(errs, &Error{Source: at.source, Text: "has an empty key", Hint: "sections are joined by exactly two underscores"})
		case len(path) == 1 && !section.leaf():
			errs = append(errs, &Error{Source: at.source, Path: path[0], Text: "is a section, not a value",
				Hint: "name a key in it: " + envPrefix + strings.ToUpper(path[0]) + "__KEY"})
		default:
			root.set(path, &node{kind: scalar, typ: loose, text: value, at: at})
		}
	}
	return warnings, errs
}

// misspelled finds the setting meant by a name with single underscores where two belong: store_flush.
func misspelled(name string, top []topSection) string {
	for _, s := range top {
		key, ok := strings.CutPrefix(name, s.name+"_")
		if !ok || s.leaf() {
			continue
		}
		for _, k := range s.keys() {
			if fold(k) == fold(key) {
				return envPrefix + strings.ToUpper(s.name) + "__" + strings.ToUpper(k)
			}
		}
	}
	return ""
}
