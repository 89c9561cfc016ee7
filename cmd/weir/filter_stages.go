package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/sdk/client"
)

// stagePassed says how many entries a stage of judging let through.
type stagePassed struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
	Passed  int    `json:"passed"`
}

// keptOf says of how many of a topic's entries brokers keep the expression's verdicts.
type keptOf struct {
	Covered int64    `json:"covered"`
	Entries int64    `json:"entries"`
	Groups  []string `json:"groups"`
}

// stages says what each stage let through.
func (r *replaying) stages() {
	out := r.out
	add := func(name string, entries, passed int) {
		out.Stages = append(out.Stages, stagePassed{name, entries, passed})
	}
	if r.about.Index != "" {
		add("index", out.Messages, out.Messages-out.RuledOut)
	}
	if r.final {
		return
	}
	judged := out.Messages - out.RuledOut
	switch {
	case r.cheap != nil:
		add(r.about.Parts[0].Name, judged, r.passed)
		add(r.about.Parts[1].Name, r.passed, out.Matched)
	case len(r.about.Parts) > 0:
		add(r.about.Parts[0].Name, judged, out.Matched)
	default:
		add("messages", judged, out.Matched)
	}
}

// kept asks the brokers of a topic how many of the expression's verdicts they keep.
func (r *replaying) kept(ctx context.Context, cl *client.Client, topic string, queues []client.Queue) {
	var all keptOf
	asked := map[string]bool{}
	for _, q := range queues {
		if asked[q.Addr] {
			continue
		}
		asked[q.Addr] = true
		list, err := cl.Filters(ctx, q.Addr, "")
		if err != nil {
			return // no WeirMQ broker, or not allowed: the figure isn't worth an error
		}
		counted := false
		for _, f := range list {
			if f.Topic != topic || f.Key != r.program.Key().String() || !f.Kept {
				continue
			}
			if !counted { // those with the same key have the same cover
				all.Covered, all.Entries, counted = all.Covered+f.Covered, all.Entries+f.Entries, true
			}
			if !slices.Contains(all.Groups, f.Group) {
				all.Groups = append(all.Groups, f.Group)
			}
		}
	}
	if len(all.Groups) > 0 {
		r.out.Kept = &all
	}
}

// showStages writes what each stage let through.
func (a *app) showStages(r *replayed) {
	var rows [][]any
	for i, s := range r.Stages {
		rows = append(rows, []any{fmt.Sprintf("%d %s", i+1, s.Name), s.Entries, s.Passed, share(int64(s.Passed), int64(s.Entries))})
	}
	fmt.Fprintln(a.stdout)
	a.table(columns("stage", "#entries", "#let through", "#share"), rows, "")
	if k := r.Kept; k != nil {
		fmt.Fprintf(a.stdout, "\nThe verdicts of this expression are kept for %s of the topic's messages (group %s): pulls don't judge those again.\n",
			share(k.Covered, k.Entries), strings.Join(k.Groups, ", "))
	}
}
