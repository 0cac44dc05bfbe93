package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/groupadmin"
)

// resetFlags are where a reset goes: exactly one of them is given.
type resetFlags struct {
	earliest, latest bool
	offset           int64
	datetime         string
	duration         string
	shift            int64
	file             string

	topics  []string
	all     bool
	execute bool
}

func groupsReset(f *groupFlags) *cobra.Command {
	r := &resetFlags{}
	cmd := &cobra.Command{
		Use:   "reset GROUP",
		Short: "Set the committed offsets of a group without members",
		Long: "Set the committed offsets of a group without members, of --topic or --all-topics. It prints what would change; --execute does it. " +
			"An offset outside of a partition's log becomes the nearer end of it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := r.target(cmd, args[0])
			if err != nil {
				return err
			}
			selection, err := r.selection()
			if err != nil {
				return err
			}
			return f.work(cmd, func(ctx context.Context, _ *config.Config, k *groupadmin.Kafka) error {
				return r.run(ctx, cmd, f, k, args[0], selection, target)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.earliest, "to-earliest", false, "to the first record there is")
	flags.BoolVar(&r.latest, "to-latest", false, "behind the last record")
	flags.Int64Var(&r.offset, "to-offset", 0, "to this offset in every partition")
	flags.StringVar(&r.datetime, "to-datetime", "", "to the first record at or after this time: YYYY-MM-DDTHH:MM:SS.sss, in UTC unless a zone follows")
	flags.StringVar(&r.duration, "by-duration", "", "to the first record of the time that passed since: PnDTnHnMnS, or 36h")
	flags.Int64Var(&r.shift, "shift-by", 0, "by so many offsets, forward or (negative) back")
	flags.StringVar(&r.file, "from-file", "", "to the offsets of a CSV file as kafka-consumer-groups writes it: topic,partition,offset")
	flags.StringArrayVar(&r.topics, "topic", nil, "topic, or topic:0,1 for some of its partitions; may be repeated")
	flags.BoolVar(&r.all, "all-topics", false, "all topics that the group has committed offsets for")
	flags.BoolVar(&r.execute, "execute", false, "do it; otherwise it is a dry run")
	where := []string{"to-earliest", "to-latest", "to-offset", "to-datetime", "by-duration", "shift-by", "from-file"}
	cmd.MarkFlagsMutuallyExclusive(where...)
	cmd.MarkFlagsOneRequired(where...)
	cmd.MarkFlagsMutuallyExclusive("topic", "all-topics", "from-file")
	cmd.MarkFlagsOneRequired("topic", "all-topics", "from-file")
	return cmd
}

// selection is what is to be reset.
func (r *resetFlags) selection() (groupadmin.Selection, error) {
	s, err := groupadmin.ParseSelection(r.topics)
	if err != nil {
		return nil, fmt.Errorf("--topic: %w", err)
	}
	return s, nil
}

// target is where it goes.
func (r *resetFlags) target(cmd *cobra.Command, group string) (groupadmin.Target, error) {
	given := cmd.Flags().Changed
	var t groupadmin.Target
	var err error
	switch {
	case given("to-earliest") && r.earliest:
		t.Kind = groupadmin.Earliest
	case given("to-latest") && r.latest:
		t.Kind = groupadmin.Latest
	case given("to-offset"):
		t.Kind, t.Offset = groupadmin.ToOffset, r.offset
		if r.offset < 0 {
			err = fmt.Errorf("--to-offset=%d: an offset is not below 0", r.offset)
		}
	case given("to-datetime"):
		t.Kind = groupadmin.AtTime
		if t.Time, err = groupadmin.ParseTime(r.datetime); err != nil {
			err = fmt.Errorf("--to-datetime: %w", err)
		}
	case given("by-duration"):
		var d time.Duration
		if d, err = groupadmin.ParseDuration(r.duration); err != nil {
			err = fmt.Errorf("--by-duration: %w", err)
		}
		t.Kind, t.Time = groupadmin.AtTime, time.Now().Add(-d)
	case given("shift-by"):
		t.Kind, t.Offset = groupadmin.ShiftBy, r.shift
	case given("from-file"):
		t.Kind = groupadmin.FromFile
		t.Offsets, err = r.readFile(group)
	default:
		err = errors.New("say where to: --to-earliest or --to-latest is switched off")
	}
	return t, err
}

func (r *resetFlags) readFile(group string) (map[groupadmin.TopicPartition]int64, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return nil, fmt.Errorf("--from-file: %w", err)
	}
	offsets, err := groupadmin.ReadFile(strings.NewReader(string(text)), group)
	if err != nil {
		return nil, fmt.Errorf("--from-file=%s: %w", r.file, err)
	}
	return offsets, nil
}

func (r *resetFlags) run(ctx context.Context, cmd *cobra.Command, f *groupFlags, k *groupadmin.Kafka, group string, selection groupadmin.Selection, target groupadmin.Target) error {
	plan, err := groupadmin.PlanReset(ctx, k, group, selection, target)
	if err != nil {
		return err
	}
	if r.execute {
		if err := plan.Execute(ctx, k); err != nil {
			return err
		}
	}
	return f.print(cmd, plan, func(t *table) { t.reset(plan) })
}
