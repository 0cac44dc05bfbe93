package telemetry

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// NewLogger makes the bridge's logger. Level is a name that logrus knows
// ("error", "warn", "info", "debug", "trace"), format is "text" or "json".
// Times are UTC with milliseconds, so that logs of several bridges can be merged.
func NewLogger(out io.Writer, level, format string) (*logrus.Logger, error) {
	lvl, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	const stamp = "2006-01-02T15:04:05.000Z07:00"
	var formatter logrus.Formatter
	switch format {
	case "text":
		formatter = &logrus.TextFormatter{FullTimestamp: true, TimestampFormat: stamp}
	case "json":
		formatter = &logrus.JSONFormatter{TimestampFormat: stamp}
	default:
		return nil, fmt.Errorf("log format %q: text and json are known", format)
	}
	log := logrus.New()
	log.SetOutput(out)
	log.SetLevel(lvl)
	log.SetFormatter(utcFormatter{formatter})
	return log, nil
}

// utcFormatter turns an entry's time into UTC before it is written.
type utcFormatter struct{ logrus.Formatter }

// Format writes the entry with its time in UTC.
func (f utcFormatter) Format(e *logrus.Entry) ([]byte, error) {
	at := e.Time
	e.Time = at.In(time.UTC)
	defer func() { e.Time = at }()
	return f.Formatter.Format(e)
}
