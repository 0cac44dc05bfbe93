package main

import (
	"github.com/spf13/cobra"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
)

// selection is the flags that choose APIs and versions.
type selection struct {
	api     string
	version int16
	command *cobra.Command
}

func addSelection(c *cobra.Command) *selection {
	s := &selection{command: c}
	c.Flags().StringVar(&s.api, "api", "", "only this API, by name or key")
	c.Flags().Int16Var(&s.version, "version", 0, "only this version")
	return s
}

// wanted returns the version, tool.AllVersions where the flag is not given.
func (s *selection) wanted() (int16, error) {
	switch {
	case !s.command.Flags().Changed("version"):
		return tool.AllVersions, nil
	case s.version < 0:
		return 0, tool.Inputf("--version is %d, but versions begin at 0", s.version)
	default:
		return s.version, nil
	}
}

// pairs returns the chosen API versions.
func (s *selection) pairs() ([]tool.Pair, error) {
	if s.command.Flags().Changed("api") && s.api == "" {
		return nil, tool.Inputf("--api is empty")
	}
	version, err := s.wanted()
	if err != nil {
		return nil, err
	}
	return tool.Select(s.api, version)
}

// filter is the choice for a corpus: the API, nil for all, and the version.
func (s *selection) filter() (*generated.API, int16, error) {
	if _, err := s.pairs(); err != nil {
		return nil, 0, err
	}
	version, err := s.wanted()
	if err != nil || s.api == "" {
		return nil, version, err
	}
	api, err := tool.LookupAPI(s.api)
	return api, version, err
}
