package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/filter"
)

// explained is what `filter explain` finds.
type explained struct {
	Type     string `json:"type"`
	Dialect  string `json:"dialect,omitempty"`
	Text     string `json:"text"`
	Key      string `json:"key"`
	Pure     bool   `json:"pure"`
	RocketMQ *bool  `json:"rocketmq,omitempty"`
	filter.Description
	Modules    []moduleRan `json:"modules,omitempty"`
	Properties []string    `json:"properties"`
	Body       bool        `json:"body"`
	Warnings   []string    `json:"warnings"`
	Costs      []costOf    `json:"costs"`
	// Reached is the share of the tool's messages that went on to the second part of judging; it decides on the costs.
	Reached *float64  `json:"reached,omitempty"`
	Stages  []stageOf `json:"stages"`
}

// moduleRan is a module that an expression runs.
type moduleRan struct {
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"`
	SHA256 string `json:"sha256"`
}

// Label is the name with the version of a pushed module.
func (m moduleRan) Label() string {
	if m.Number == 0 {
		return m.Name
	}
	return m.Name + "@" + strconv.Itoa(m.Number)
}

type stageOf struct {
	Name string `json:"name"`
	What string `json:"what"`
}

func (a *app) filterExplainCommand() *cobra.Command {
	var f filterFlags
	c := &cobra.Command{
		Use:   "explain EXPRESSION",
		Short: "say what an expression means, what is doubtful about it, and what it costs",
		Long: "Say what an expression means, what is doubtful about it, and what it costs.\n\n" +
			"No broker is asked: the filters of the configuration run in this process.",
		Example: "  weir filter explain \"amount > 100 AND region IN ('eu','us')\"\n  weir filter explain --type TAG 'A || B'\n" +
			"  weir filter explain -c broker.yaml \"wasm.geo.within(lat, lon, 'berlin')\"",
		Args: exactArgs("EXPRESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.explainFilter(cmd.Context(), &f, args[0])
			if err != nil {
				return a.refuse(err, args[0])
			}
			return a.print(e, func() { a.showExplained(e) })
		},
	}
	f.flags(c)
	return c
}

func (a *app) explainFilter(ctx context.Context, f *filterFlags, text string) (*explained, error) {
	p, err := a.compile(ctx, f, "", text)
	if err != nil {
		return nil, err
	}
	defer p.close()
	key, needs := p.Key(), p.Needs()
	e := &explained{Type: f.kind, Text: text, Key: fmt.Sprintf("%x", key[:]), Pure: p.Pure(), Body: needs.Body,
		Properties: append([]string{}, needs.Properties...), Warnings: append([]string{}, p.Warnings()...)}
	if v, ok := p.Program.(filter.Variant); ok {
		same := v.RocketMQ()
		e.Dialect, e.RocketMQ = v.Dialect(), &same
	}
	if d, ok := p.Program.(filter.Describer); ok {
		e.Description = d.Describe()
	}
	if m, ok := p.Program.(filter.Modular); ok {
		for _, ref := range m.ModuleRefs() {
			e.Modules = append(e.Modules, moduleRan{ref.Name, ref.Number, ref.SHA256})
		}
	}
	b := sampleBatch(p.Program)
	e.stages(needs, indexDecides(p.Program, b))
	if cheap, ok := p.Program.(filter.Prefilter); ok && len(e.Parts) > 1 {
		reached := reachedBy(cheap, b)
		e.Reached = &reached
	}
	return e, a.costs(ctx, f, text, e, p, b)
}

// indexDecides says whether the queue's index is all that the program looks at.
func indexDecides(p filter.Program, b *filter.Batch) bool {
	index, ok := p.(filter.IndexMatcher)
	return ok && index.MatchIndex(b.TagsCodes, make([]uint64, sampleMessages/64))
}

// stages lists what an entry of a queue has to pass.
func (e *explained) stages(needs filter.Needs, indexOnly bool) {
	add := func(name, format string, args ...any) {
		e.Stages = append(e.Stages, stageOf{name, fmt.Sprintf(format, args...)})
	}
	switch {
	case indexOnly:
		add("index", "the tag's code in the queue's index decides; no message is read")
		return
	case !needs.Record:
		add("index", "nothing of a message is looked at")
		return
	case e.Index != "":
		add("index", "%s; other entries are never read", e.Index)
	}
	if e.Pure {
		add("verdicts", "kept from when the message arrived, or from the last pull: bits, 64 at a time")
	}
	if len(e.Parts) == 0 {
		add("messages", "those that are left are read and judged")
	}
	for i, p := range e.Parts {
		how := partTexts[p.Name]
		if i > 0 {
			how = "only for what is left, " + how
		}
		add(p.Name, "%s%s", how, strings.Join(p.Conditions, "; "))
	}
}

// partTexts say what is done in a part of judging a message.
var partTexts = map[string]string{
	filter.PartConditions: "on properties: ",
	filter.PartBody:       "the body is decompressed and searched: ",
	filter.PartCalls:      "functions are called: ",
	filter.PartModule:     "",
}

func (a *app) showExplained(e *explained) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	language := e.Type
	if e.Dialect != "" {
		language += ", dialect " + e.Dialect
	}
	line("language", "%s", language)
	for i, l := range e.Tree {
		name := ""
		if i == 0 {
			name = "means"
		}
		line(name, "%s", l)
	}
	switch {
	case len(e.Reads) > 0:
		line("reads", "%s", strings.Join(e.Reads, ", "))
	case len(e.Properties) > 0:
		line("reads", "%s", strings.Join(e.Properties, ", "))
	}
	if e.Body {
		line("", "the body")
	}
	for i, m := range e.Modules {
		name := ""
		if i == 0 {
			name = "runs"
		}
		line(name, "module %s, SHA-256 %.16s", m.Label(), m.SHA256)
	}
	for i, s := range e.Stages {
		name := ""
		if i == 0 {
			name = "stages"
		}
		line(name, "%d %s: %s", i+1, s.Name, s.What)
	}
	if !e.Pure {
		line("kept", "no: it isn't pure, or runs a module without dispatch: true, so each pull asks it again")
	}
	if e.RocketMQ != nil {
		line("RocketMQ", "%s", map[bool]string{true: "compiles it to the same", false: "doesn't understand it, or differently: it can't be taken to a RocketMQ broker"}[*e.RocketMQ])
	}
	for i, c := range e.Costs {
		name := ""
		if i == 0 {
			name = "costs"
		}
		line(name, "%.3g ns a message, engine %s", c.Nanos, c.Engine)
	}
	if e.Reached != nil {
		line("", "of the tool's messages %.0f %% went on to the %s; 'weir filter test' measures with yours", 100**e.Reached, e.Parts[1].Name)
	}
	line("key", "%s", e.Key[:16])
	a.showDoubts("warning", e.Text, e.Warnings)
	a.showDoubts("hint", e.Text, e.Hints)
}

// showDoubts writes what is doubtful, each with a mark below its place.
func (a *app) showDoubts(name, text string, list []string) {
	for _, w := range list {
		fmt.Fprintf(a.stdout, "\n%s: %s\n", name, w)
		pointAt(a.stdout, text, w)
	}
}
