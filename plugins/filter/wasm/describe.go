package wasm

import (
	"fmt"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

var _ filter.Describer = (*program)(nil)

// Describe says how the module judges. Of the settings that an operator or a subscriber has given it tells the names only.
func (p *program) Describe() filter.Description {
	m := p.module
	d := filter.Description{Engine: "module", Tree: []string{m.title()}}
	for i, s := range m.manifest.Config {
		mark := "├─ "
		if i == len(m.manifest.Config)-1 {
			mark = "└─ "
		}
		value := "isn't set"
		if i < len(p.values) && p.values[i].set {
			value = "is set"
			if s.Default != nil && p.values[i].text == *s.Default {
				value = fmt.Sprintf("%q, its default", printable([]byte(*s.Default), 60))
			}
		}
		d.Tree = append(d.Tree, mark+s.Name+" "+value)
	}
	for _, s := range p.layout.slots {
		var forms []string
		if s.text {
			forms = append(forms, "text")
		}
		if s.number != SlotText {
			forms = append(forms, s.number.String())
		}
		d.Reads = append(d.Reads, p.layout.names[s.name]+" as "+strings.Join(forms, " and "))
	}
	if m.anyProp {
		d.Reads = append(d.Reads, "any property, by the import prop")
	}
	d.Parts = []filter.Part{{Name: filter.PartModule, Conditions: []string{
		fmt.Sprintf("%s judges up to %d messages a call, with at most %d units of fuel", m.name, p.cfg.Limits.Records, p.fuelFor(p.cfg.Limits.Records))}}}
	switch {
	case m.impure:
		d.Hints = append(d.Hints, "the module isn't pure: it imports a clock or says so in its manifest, so each pull asks it again")
	case !p.cfg.Dispatch:
		d.Hints = append(d.Hints, "the module says that it is pure; with dispatch: true its verdicts are kept, and each message is judged once")
	}
	return d
}

// title names the module for people.
func (m *module) title() string {
	t := "module " + m.name
	if m.number > 0 {
		t += fmt.Sprintf("@%d", m.number)
	}
	if v := m.manifest.Version; v != "" {
		t += ", version " + printable([]byte(v), 40)
	}
	return fmt.Sprintf("%s, SHA-256 %x", t, m.hash[:8])
}
