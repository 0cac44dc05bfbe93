package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/telemetry"
)

func engineCommand(signals <-chan os.Signal) *cobra.Command {
	return &cobra.Command{
		Use:   "engine",
		Short: "Run the embedded engine alone, for Iggy's own clients",
		Long: "Run the embedded engine alone: a server of Iggy's TCP protocol on --embedded.listen, with its data in --embedded.data_dir.\n\n" +
			"Its root user is --iggy.username with --iggy.password; without a password one is made at first start and kept in the data folder.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags())
			if err != nil {
				return err
			}
			if c.Iggy.Address != "" {
				return fmt.Errorf("iggy.address=%s names another server, but this command runs one; its own address is embedded.listen", c.Iggy.Address)
			}
			if err := serveEngine(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr(), signals); err != nil {
				return fmt.Errorf("%w: %w", errRuntime, err)
			}
			return nil
		},
	}
}

// openEngine opens the engine that the configuration describes.
func openEngine(c *config.Config, log logrus.FieldLogger) (*engine.Engine, error) {
	opts := engine.Options{
		DataDir:       c.Embedded.DataDir,
		Listen:        c.Embedded.Listen,
		RootUser:      c.Iggy.Username,
		RootPassword:  c.Iggy.Password,
		Fsync:         engine.FsyncPolicy(c.Embedded.Fsync),
		FsyncInterval: c.Embedded.FsyncInterval,
		SegmentBytes:  c.Embedded.SegmentBytes,
		Heartbeat:     c.Embedded.Heartbeat,
		Logger:        log,
	}
	if t := c.Embedded.TLS; t.Enabled && t.CertFile != "" {
		own, err := engine.LoadTLS(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("embedded.tls.cert_file=%s, embedded.tls.key_file=%s: %w", t.CertFile, t.KeyFile, err)
		}
		opts.TLS = own
	} else {
		opts.SelfSigned = t.Enabled
	}
	e, err := engine.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("embedded.data_dir=%s: %w", c.Embedded.DataDir, err)
	}
	return e, nil
}

// serveEngine runs the engine until a signal comes, and ends it in order. A second
// signal ends the process.
func serveEngine(ctx context.Context, c *config.Config, stdout, stderr io.Writer, signals <-chan os.Signal) error {
	log, err := telemetry.NewLogger(stderr, c.Log.Level, c.Log.Format)
	if err != nil {
		return err
	}
	e, err := openEngine(c, log)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(stdout, reachEngine(c, e)); err == nil {
		select {
		case s := <-signals:
			log.WithField("signal", s.String()).Info("ending; a second signal ends at once")
		case <-ctx.Done():
		}
	}
	ended := endAtOnce(signals, log)
	defer close(ended)
	closing, cancel := context.WithTimeout(context.Background(), max(c.ShutdownGrace, minCloseTime))
	defer cancel()
	if closeErr := e.Close(closing); err == nil {
		err = closeErr
	}
	return err
}

// reachEngine tells in one line how a client reaches the engine. A password is not
// printed: who may read the data folder finds it there.
func reachEngine(c *config.Config, e *engine.Engine) string {
	user, _ := e.Credentials()
	password := "as configured"
	if c.Iggy.Password == "" {
		password = "in " + filepath.Join(c.Embedded.DataDir, engine.CredentialsFile)
	}
	protocol := "tcp"
	switch {
	case e.CertificateFile() != "":
		protocol = "tls, certificate " + e.CertificateFile()
	case c.Embedded.TLS.Enabled:
		protocol = "tls"
	}
	return fmt.Sprintf("kafka-iggy-bridge: Iggy clients: %s (%s) · user %s, password %s", e.Addr(), protocol, user, password)
}

// endAtOnce ends the process when one more signal comes before the returned channel
// is closed.
func endAtOnce(signals <-chan os.Signal, log logrus.FieldLogger) chan<- struct{} {
	ended := make(chan struct{})
	go func() {
		select {
		case <-signals:
			log.Warn("ended at once by a second signal")
			os.Exit(exitFailed)
		case <-ended:
		}
	}()
	return ended
}
