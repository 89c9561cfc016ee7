package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirmq/weir/core/config"
)

// source says where a configuration is read from.
type source struct {
	file    string
	dataDir string
}

func (s *source) flags(f *pflag.FlagSet) {
	f.StringVarP(&s.file, "config", "c", "", "configuration `FILE` (default $WEIR_CONFIG, else ./broker.yaml if it is there)")
	f.StringVar(&s.dataDir, "data-dir", "", "`DIR` of the store, in place of data_dir")
}

// options turns the flags into what core/config reads. The sections of other owners are new structs with each call.
func (a *app) options(s *source) (config.Options, error) {
	o, err := parts()
	if err != nil {
		return o, err
	}
	o.Env = a.env
	if o.File = s.file; o.File == "" {
		o.File = a.getenv("WEIR_CONFIG")
	}
	if o.File == "" {
		o.File, o.FileOptional = config.DefaultFile, true
	}
	if s.dataDir != "" {
		o.Flags = append(o.Flags, config.Flag{Name: "--data-dir", Path: "data_dir", Value: s.dataDir})
	}
	return o, nil
}

// load reads the configuration. What is wrong with it is an error of the command line.
func (a *app) load(s *source) (*config.Config, error) {
	o, err := a.options(s)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(o)
	var bad config.Errors
	switch {
	case errors.As(err, &bad):
		fmt.Fprintln(a.stderr, bad)
		return nil, &silent{exitUsage}
	case errors.Is(err, os.ErrNotExist):
		return nil, usage(err)
	}
	return cfg, err
}

func (a *app) configCommand() *cobra.Command {
	return group("config", "check, show and describe the configuration",
		a.configValidateCommand(), a.configShowCommand(), a.configSchemaCommand())
}

func (a *app) configValidateCommand() *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "report everything that is wrong, with line and column",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.file = args[0]
			}
			cfg, err := a.load(&s)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintln(a.stderr, "warning: "+w)
			}
			name := cfg.File
			if name == "" {
				name = "the built-in defaults and the environment"
			}
			fmt.Fprintln(a.stdout, name+": ok")
			return nil
		},
	}
	s.flags(c.Flags())
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	var s source
	var o config.ShowOptions
	c := &cobra.Command{
		Use:   "show",
		Short: "print the values in force; --origin says where each comes from",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load(&s)
			if err != nil {
				return err
			}
			if a.format == formatJSON {
				return a.print(cfg.Values(), nil)
			}
			_, err = fmt.Fprint(a.stdout, cfg.Show(o))
			return err
		},
	}
	s.flags(c.Flags())
	c.Flags().BoolVar(&o.Origin, "origin", false, "add where each value comes from")
	c.Flags().BoolVar(&o.Doc, "doc", false, "add what each key means")
	return c
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of broker.yaml, for editors",
		Long: "Print the JSON Schema (draft 07) of broker.yaml, plugins included.\n\n" +
			"Save it and begin broker.yaml with\n\n  # yaml-language-server: $schema=broker.schema.json",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			o, err := parts()
			if err != nil {
				return err
			}
			b, err := config.Schema(o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, strings.TrimRight(string(b), "\n"))
			return err
		},
	}
}
