package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/sdk/client"
)

// completeTimeout bounds the questions behind the tab key.
const completeTimeout = time.Second

// completer offers names for the first argument.
type completer func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete asks the cluster for names. Without an answer nothing is offered: a shell is no place for errors.
func (a *app) complete(names func(context.Context, *client.Client) ([]string, error)) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.connect.timeout = completeTimeout
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		var found []string
		_ = a.with(ctx, func(ctx context.Context, cl *client.Client) (err error) {
			found, err = names(ctx, cl)
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTopic offers topics, but for those of retries, dead letters and brokers.
func (a *app) completeTopic() completer {
	return a.complete(func(ctx context.Context, cl *client.Client) ([]string, error) {
		topics, err := cl.Topics(ctx)
		if err != nil {
			return nil, err
		}
		masters, err := cl.Masters(ctx, "")
		if err != nil {
			return nil, err
		}
		var system []string
		for _, addr := range masters {
			own, err := cl.SystemTopics(ctx, addr)
			if err != nil {
				return nil, err
			}
			system = append(system, own...)
		}
		return slices.DeleteFunc(topics, func(t string) bool { return ownTopic(t, system) }), nil
	})
}

// completeGroup offers groups.
func (a *app) completeGroup() completer {
	return a.complete(func(ctx context.Context, cl *client.Client) ([]string, error) {
		masters, err := cl.Masters(ctx, "")
		if err != nil {
			return nil, err
		}
		var names []string
		for _, addr := range masters {
			groups, err := cl.GroupConfigs(ctx, addr)
			if err != nil {
				return nil, err
			}
			for g := range groups {
				if !slices.Contains(names, g) {
					names = append(names, g)
				}
			}
		}
		slices.Sort(names)
		return names, nil
	})
}

// completeFormat offers the values of --output.
func completeFormat(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return formats, cobra.ShellCompDirectiveNoFileComp
}
