package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestEveryGeneratedRequest sends each API key's every version to the bridge. No
// answer may be malformed, and a connection that was open before must not notice.
func TestEveryGeneratedRequest(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	bystander := franz(t, b.addr)
	produce := func(text string) {
		if err := bystander.ProduceSync(within(t, stepTime), &kgo.Record{Topic: topic, Value: []byte(text)}).FirstErr(); err != nil {
			t.Errorf("a connection beside: %v", err)
		}
	}
	produce("before")
	for _, seed := range []string{"1", "2", "3"} {
		dir := filepath.Join(t.TempDir(), seed)
		tool(t, "generate", "--out", dir, "--seed", seed)
		out := tool(t, "send", b.addr, dir)
		if !regexp.MustCompile(`(?m)\b0 malformed\b`).MatchString(out) {
			t.Errorf("seed %s:\n%s", seed, lastLines(out, 40))
		}
		b.alive()
	}
	produce("after")
}

func tool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(within(t, 3*stepTime), filepath.Join(binaries, "kafka-tool"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kafka-tool %s: %v\n%s", strings.Join(args, " "), err, lastLines(string(out), 40))
	}
	return string(out)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
