package main

import (
	"os"
	"strings"
	"testing"
)

// execute runs a command line to its end.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(args, &out, &errs, make(chan os.Signal))
	return code, out.String(), errs.String()
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, _ := execute("version")
	if code != exitOK || !strings.HasPrefix(out, "kafka-iggy-bridge ") || !strings.Contains(out, "Kafka protocol 4.4.0") {
		t.Errorf("exit %d: %q", code, out)
	}
}

func TestConfigPrintsWhatIsInEffect(t *testing.T) {
	t.Parallel()
	code, out, errs := execute("config", "--kafka.node_id=7", "--iggy.password=very secret")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, line := range []string{
		`kafka.listen: "127.0.0.1:9093" # default`,
		`kafka.node_id: 7 # flag --kafka.node_id`,
		`iggy.password: "********" # flag --iggy.password`,
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("lacks %q in\n%s", line, out)
		}
	}
}

func TestMistakesOnTheCommandLineAreOneLineAndExitTwo(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		want string
	}{
		"unknown flag":                 {[]string{"--kafka.listne=x"}, "--kafka.listne"},
		"unknown command":              {[]string{"configure"}, "configure"},
		"spare argument":               {[]string{"version", "please"}, "please"},
		"bad value":                    {[]string{"--embedded.fsync=maybe"}, "never, interval, always"},
		"bad value for config":         {[]string{"config", "--log.level=loud"}, "error, warn, info, debug, trace"},
		"wildcard without advertised":  {[]string{"--kafka.listen=0.0.0.0:0"}, "--kafka.advertised="},
		"configuration file not there": {[]string{"--config=/nonexistent.yaml"}, "/nonexistent.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := execute(tc.args...)
			if code != exitUsage || out != "" || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
			}
		})
	}
}
