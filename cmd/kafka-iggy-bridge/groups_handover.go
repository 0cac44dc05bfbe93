package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/groupadmin"
)

// handoverFlags are what a handover is about.
type handoverFlags struct {
	toIggy, fromIggy bool
	iggyGroup        string
	topics           []string
	removeSource     bool
	execute          bool
}

func groupsHandover(f *groupFlags) *cobra.Command {
	h := &handoverFlags{}
	cmd := &cobra.Command{
		Use:   "handover GROUP",
		Short: "Move a group's position to a consumer group of Iggy's, or back",
		Long: "Move the position of a Kafka group, once, to the stored offsets of a consumer group of Iggy's (--to-iggy), or back (--from-iggy). " +
			"Neither may have members. It prints what would change; --execute does it. All offsets are shown as Kafka counts: the next to be consumed.\n\n" +
			"Iggy is reached by iggy.address and the keys beside it; without an address it is the embedded engine of the bridge that runs on embedded.data_dir.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			selection, err := groupadmin.ParseSelection(h.topics)
			if err != nil {
				return fmt.Errorf("--topic: %w", err)
			}
			spec := groupadmin.HandoverSpec{Direction: groupadmin.ToIggy, Group: args[0], IggyGroup: h.iggyGroup, Selection: selection}
			switch {
			case h.fromIggy:
				spec.Direction = groupadmin.FromIggy
			case !h.toIggy:
				return errors.New("say which way: --to-iggy or --from-iggy")
			}
			return f.work(cmd, func(ctx context.Context, c *config.Config, k *groupadmin.Kafka) error {
				return h.run(ctx, cmd, f, c, k, spec)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&h.toIggy, "to-iggy", false, "from Kafka to Iggy")
	flags.BoolVar(&h.fromIggy, "from-iggy", false, "from Iggy to Kafka")
	flags.StringVar(&h.iggyGroup, "iggy-group", "", "name of the consumer group in Iggy (default: that of the Kafka group)")
	flags.StringArrayVar(&h.topics, "topic", nil, "topic, or topic:0,1 for some of its partitions; may be repeated (default: all in which the side that is left has the group)")
	flags.BoolVar(&h.removeSource, "remove-source", false, "with --execute: remove the moved offsets from the side that is left")
	flags.BoolVar(&h.execute, "execute", false, "do it; otherwise it is a dry run")
	cmd.MarkFlagsMutuallyExclusive("to-iggy", "from-iggy")
	cmd.MarkFlagsOneRequired("to-iggy", "from-iggy")
	return cmd
}

func (h *handoverFlags) run(ctx context.Context, cmd *cobra.Command, f *groupFlags, c *config.Config, k *groupadmin.Kafka, spec groupadmin.HandoverSpec) (err error) {
	bc, err := findIggy(c)
	if err != nil {
		return err
	}
	offsets, err := bridge.OpenConsumerOffsets(bc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, offsets.Close()) }()
	plan, err := groupadmin.PlanHandover(ctx, k, offsets, spec)
	if err != nil {
		return fmt.Errorf("%w (Iggy at %s)", err, bc.Address)
	}
	if h.execute {
		if err := plan.Execute(ctx, k, offsets, h.removeSource); err != nil {
			return fmt.Errorf("%w (Iggy at %s)", err, bc.Address)
		}
	}
	return f.print(cmd, plan, func(t *table) { t.handover(plan) })
}

// findIggy says how the Iggy of the bridge is reached: as configured, or as the
// running embedded engine tells in its data folder.
func findIggy(c *config.Config) (bridge.Config, error) {
	bc := iggyConfig(c)
	if bc.Address != "" {
		return bc, nil
	}
	at, err := engine.ReadContact(c.Embedded.DataDir)
	if err != nil {
		return bc, fmt.Errorf("embedded.data_dir=%s: %w; start the bridge, or name its Iggy with iggy.address", c.Embedded.DataDir, err)
	}
	bc.Address = at.Address
	if bc.Password == "" {
		bc.Username, bc.Password = at.Username, at.Password
	}
	if bc.Password == "" {
		return bc, fmt.Errorf("embedded.data_dir=%s: the engine does not keep the password that it was configured with; give it with iggy.password_file or iggy.password", c.Embedded.DataDir)
	}
	bc.TLS = bridge.TLSConfig{Enabled: at.TLS}
	if at.TLS {
		// A certificate that was given may be for any name. What the address file
		// says is the folder's owner's word.
		bc.TLS.CAFile, bc.TLS.Domain, bc.TLS.SkipVerify = at.CertificateFile, "localhost", at.CertificateFile == ""
	}
	return bc, nil
}
